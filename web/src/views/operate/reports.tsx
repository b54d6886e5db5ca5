// Figures for the books: by month, the trial balance, what hosts earned in a year.
import { useState } from 'preact/hooks';
import { asError, client, usePages, useRead } from '../../api';
import { Money } from '../../format';
import { Async, Badge, Button, Failure, Field, Loading, More, Page, Panel, Select, Table, TextInput, toast } from '../../kit';
import { useQuery } from '../../router';
import { saveAs } from '../../save';
import { pocket } from '../../words';

export default function Reports() {
    const [query, setQuery] = useQuery();
    const today = new Date().toISOString().slice(0, 10);
    const period = { first_day: query['first_day'] || `${today.slice(0, 4)}-01-01`, last_day: query['last_day'] || today,
        by: query['by'] || 'month', asset: query['asset'] || 'USDC' };
    return <Page title="Reports" facts="Out of the ledger, and so as exact as it is.">
        <div class="row filters-row">
            <Field label="First day">{(ids) => <TextInput {...ids} value={period.first_day} mono
                onInput={(first_day) => setQuery({ first_day }, { replace: true })} />}</Field>
            <Field label="Last day">{(ids) => <TextInput {...ids} value={period.last_day} mono
                onInput={(last_day) => setQuery({ last_day }, { replace: true })} />}</Field>
            <Field label="By">{(ids) => <Select {...ids} value={period.by} options={[['month', 'Month'], ['day', 'Day']]}
                onChange={(by) => setQuery({ by }, { replace: true })} />}</Field>
            <Field label="Asset">{(ids) => <Select {...ids} value={period.asset} options={[['USDC', 'USDC'], ['USDT', 'USDT']]}
                onChange={(asset) => setQuery({ asset }, { replace: true })} />}</Field>
        </div>
        <div class="stack">
            <Figures query={period} />
            <Trial />
            <HostEarnings year={period.last_day.slice(0, 4)} asset={period.asset} />
        </div>
    </Page>;
}

function Figures({ query }: { query: Record<string, string> }) {
    const read = useRead('report_figures', { query: query as never });
    return <Panel title="Figures" flush aside={<Download operation="report_figures" query={query} />}>
        <Async read={read}>{({ rows }) => <Table caption="Figures" dense rows={rows} keyOf={({ period }) => period} columns={[
            { head: 'Period', cell: ({ period }) => period },
            { head: 'Charged', right: true, cell: ({ charged_micro }) => <Money micro={charged_micro} asset={null} /> },
            { head: 'Refunded', right: true, cell: ({ refunded_micro }) => <Money micro={refunded_micro} asset={null} /> },
            { head: 'Fees', right: true, cell: ({ fees_micro }) => <Money micro={fees_micro} asset={null} /> },
            { head: 'To hosts', right: true, cell: ({ host_earnings_micro }) => <Money micro={host_earnings_micro} asset={null} /> },
            { head: 'Paid in', right: true, narrow: 'hide', cell: ({ received_micro }) => <Money micro={received_micro} asset={null} /> },
            { head: 'Withdrawn', right: true, narrow: 'hide', cell: ({ withdrawn_micro }) => <Money micro={withdrawn_micro} asset={null} /> },
            { head: 'Paid out', right: true, narrow: 'hide', cell: ({ paid_out_micro }) => <Money micro={paid_out_micro} asset={null} /> },
        ]} />}</Async>
    </Panel>;
}

function Trial() {
    const read = useRead('report_trial_balance', {});
    return <Panel title="Trial balance" flush aside={<span class="row">
        {read.data && <Badge tone={read.data.balanced ? 'go' : 'stop'}>{read.data.balanced ? 'Balanced' : 'Not balanced'}</Badge>}
        <Download operation="report_trial_balance" query={{}} /></span>}>
        <Async read={read}>{({ rows }) => <Table caption="Trial balance" dense rows={rows}
            keyOf={({ asset, pocket: kind }) => asset + kind} columns={[
                { head: 'Pocket', cell: ({ pocket: kind }) => pocket(kind) },
                { head: 'Asset', cell: ({ asset }) => asset },
                { head: 'Debit', right: true, cell: ({ debit_micro }) => <Money micro={debit_micro} asset={null} places={6} /> },
                { head: 'Credit', right: true, cell: ({ credit_micro }) => <Money micro={credit_micro} asset={null} places={6} /> },
                { head: 'Balance', right: true, cell: ({ balance_micro }) => <Money micro={balance_micro} asset={null} places={6} /> },
            ]} />}</Async>
    </Panel>;
}

function HostEarnings({ year, asset }: { year: string; asset: string }) {
    const list = usePages('report_host_earnings', { query: { year, asset } as never });
    return <Panel title={`What hosts earned in ${year}`} flush
        aside={<Download operation="report_host_earnings" query={{ year, asset }} />}>
        {list.error ? <Failure error={list.error} retry={list.refetch} /> : !list.items ? <Loading />
            : <Table caption="Earnings of hosts" dense rows={list.items} keyOf={({ account_id }) => account_id}
                href={({ account_id }) => `/operate/users/${account_id}`} columns={[
                    { head: 'Host', cell: ({ email, account_id }) => email ?? account_id },
                    { head: 'Gross', right: true, cell: ({ gross_micro }) => <Money micro={gross_micro} asset={null} /> },
                    { head: 'Fee', right: true, cell: ({ fee_micro }) => <Money micro={fee_micro} asset={null} /> },
                    { head: 'Earned', right: true, cell: ({ earned_micro }) => <Money micro={earned_micro} asset={null} /> },
                    { head: 'Paid', right: true, cell: ({ paid_micro }) => <Money micro={paid_micro} asset={null} /> },
                ]} />}
        <More list={list} />
    </Panel>;
}

/** The same rows as a file. */
function Download({ operation, query }: {
    operation: 'report_figures' | 'report_trial_balance' | 'report_host_earnings'; query: Record<string, string>;
}) {
    const [busy, setBusy] = useState(false);
    async function save() {
        setBusy(true);
        try {
            const answer = await client.open(operation, { query, headers: { Accept: 'text/csv' } } as never);
            saveAs(`${operation}.csv`, await answer.blob());
        } catch (fault) {
            toast(asError(fault).message);
        }
        setBusy(false);
    }
    return <Button small busy={busy} onClick={() => void save()}>Download CSV</Button>;
}
