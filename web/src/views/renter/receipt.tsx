// What was paid for, and that the service stands by it.
import { money } from 'berth-client';
import { useEffect, useState } from 'preact/hooks';
import { useRead } from '../../api';
import { Duration, Id, Money, moneyText, percent, Rate, When } from '../../format';
import { Async, Badge, Button, Checks, Facts, Page, Panel, Table, type CheckItem, type Column } from '../../kit';
import { useParams } from '../../router';
import { entryKind, jobState } from '../../words';
import { CannotCheck, isReceiptWhole, publishedKeyOf, type PublishedKey, type Receipt } from './proofs';

type Outcome = { state: CheckItem['state']; found: string };
type Entry = Receipt['entries'][number];

function useSignature(receipt: Receipt): Outcome {
    const [outcome, setOutcome] = useState<Outcome>({ state: 'run', found: 'checking' });
    useEffect(() => {
        let isLeft = false;
        const tell = (told: Outcome) => { if (!isLeft) setOutcome(told); };
        isReceiptWhole(receipt).then(
            (isGood) => tell(isGood ? { state: 'pass', found: 'unaltered' }
                : { state: 'fail', found: 'not what was signed' }),
            (fault) => tell({
                state: 'warn', found: fault instanceof CannotCheck ? fault.message : 'could not be checked' }));
        return () => { isLeft = true; };
    }, [receipt]);
    return outcome;
}

/** The charge out of rate and time, and its two parts. */
function arithmetic(receipt: Receipt): Outcome {
    const { charge_micro: charge, fee_micro: fee, host_micro: host } = receipt;
    const reckoned = money.charge(
        receipt.machine_rate_micro_per_hour, receipt.accepted_runtime_ms, receipt.funded_budget_micro);
    const isSplit = money.micro(fee) + money.micro(host) === money.micro(charge);
    if (reckoned === charge && isSplit) return { state: 'pass', found: moneyText(charge, 6) };
    return { state: 'fail', found: `${moneyText(charge, 6)}, reckoned ${moneyText(reckoned, 6)}` };
}

function Checked({ receipt, keys, isLost }: {
    receipt: Receipt; keys: PublishedKey[] | undefined; isLost: boolean;
}) {
    const signature = useSignature(receipt);
    const key = keys && publishedKeyOf(receipt, keys);
    const sum = arithmetic(receipt);
    const items: CheckItem[] = [
        { name: 'The receipt is what was signed', ...signature, needed: 'Ed25519 over its canonical JSON' },
        { name: 'The key is one that the service published',
            state: keys ? key ? 'pass' : 'fail' : isLost ? 'warn' : 'run',
            found: keys ? receipt.signature?.key_id : isLost ? 'the keys could not be read' : 'reading the keys',
            needed: 'for receipts, in use then' },
        { name: 'The charge is rate times time, never above the budget', ...sum, needed: 'to the micro-unit' },
    ];
    return <Panel title="Checked in your browser" flush
        footer={receipt.as_of && <>Signed <When at={receipt.as_of} />. The service was asked for its keys only.</>}>
        <div role="status"><Checks items={items} /></div>
    </Panel>;
}

function Sum({ receipt, asset }: { receipt: Receipt; asset: string | undefined }) {
    const back = money.micro(receipt.funded_budget_micro) - money.micro(receipt.charge_micro);
    const has = (amount: string) => money.micro(amount) !== 0n;
    const exact = (amount: string | bigint) => <Money micro={amount} places={6} asset={asset ?? null} />;
    return <Panel title="What you paid" aside={<Badge state={receipt.state} tone={jobState(receipt.state).tone}>
        {jobState(receipt.state).word}</Badge>}>
        <div>
            <div class="figure" title={moneyText(receipt.charge_micro, 6, asset)}>
                {moneyText(receipt.charge_micro, 4)} <small>{asset}</small></div>
            <p class="small muted"><Duration ms={receipt.accepted_runtime_ms} /> at{' '}
                <Rate microPerHour={receipt.machine_rate_micro_per_hour} /> an hour</p>
        </div>
        <Facts items={[
            ['To the host', exact(receipt.host_micro)],
            [`Fee of ${percent(receipt.platform_fee_bps / 10_000)}, out of it`, exact(receipt.fee_micro)],
            [<strong>Together</strong>, <strong>{exact(receipt.charge_micro)}</strong>],
            has(receipt.credit_micro) && ['Of it paid by a credit', exact(receipt.credit_micro)],
            has(receipt.refunded_micro) && ['Given back of it', exact(receipt.refunded_micro)],
            has(receipt.uncarried_ms ?? '0')
                && ['Not billed: the gate did not carry it', <Duration ms={receipt.uncarried_ms} />],
            ['Held at most', exact(receipt.funded_budget_micro)],
            ['Not used', exact(back)],
        ]} />
    </Panel>;
}

function Parties({ receipt, id }: { receipt: Receipt; id: string }) {
    return <Panel title="Between whom">
        <Facts items={[
            ['Rental', <Id value={id} what="rental id" />],
            ['Host', <Id value={receipt.supplier.account_id} what="host's account" />],
            ['Service', receipt.operator.name ?? 'Berth'],
            receipt.operator.support_email ? ['Questions to', receipt.operator.support_email] : null,
            receipt.evidence_head ? ['Newest evidence', <Id value={receipt.evidence_head} what="hash" />] : null,
        ]} />
        <Button wide href={`/rentals/${id}/evidence`}>See the evidence</Button>
    </Panel>;
}

const columns: Column<Entry>[] = [
    { head: 'What', cell: (entry) => entryKind(entry.kind) },
    { head: 'When', cell: (entry) => <When at={entry.at} /> },
    { head: 'Transaction', cell: (entry) => <Id value={entry.transaction_id} what="transaction" />, narrow: 'hide' },
    { head: 'Amount', right: true, cell: (entry) => <Money sign places={6} asset={null}
        micro={entry.direction === 'debit' ? -money.micro(entry.amount_micro) : entry.amount_micro} /> },
];

/** Of the very bytes that were checked; a link of its own, since no address has them. */
function download(receipt: Receipt): void {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([JSON.stringify(receipt, null, 2)], { type: 'application/json' }));
    link.download = `receipt-${receipt.job_id}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function Shown({ receipt, id }: { receipt: Receipt; id: string }) {
    const keys = useRead('list_signing_keys');
    const job = useRead('show_job', { path: { id } });
    return <div class="cols">
        <div class="stack">
            <Checked receipt={receipt} keys={keys.data?.keys} isLost={keys.error !== undefined} />
            <Panel title="Movements behind it" flush
                footer="A plus adds to what somebody has, a minus takes from it.">
                <Table caption="Movements of the ledger" columns={columns} rows={receipt.entries} dense
                    keyOf={(entry) => `${entry.transaction_id} ${entry.kind} ${entry.direction}`} />
            </Panel>
        </div>
        <aside class="stack lead" aria-label="Sum and parties">
            <Sum receipt={receipt} asset={job.data?.asset} />
            <Parties receipt={receipt} id={id} />
        </aside>
    </div>;
}

export default function ReceiptPage() {
    const { id = '' } = useParams();
    const read = useRead('show_receipt', { path: { job: id }, query: { signed: true } });
    return <Page title="Receipt" crumbs={[['Rentals', '/rentals'], ['Rental', `/rentals/${id}`]]}
        facts={<Id value={id} what="rental id" />}
        actions={<Button kind="primary" icon="download" disabled={!read.data}
            onClick={() => { if (read.data) download(read.data); }}>Download</Button>}>
        <Async read={read} rows={8}>{(receipt) => <Shown receipt={receipt} id={id} />}</Async>
    </Page>;
}
