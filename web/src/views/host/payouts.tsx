// What is ready to pay out, where it goes, and what is on its way.
import { useState } from 'preact/hooks';
import type { Item } from 'berth-client';
import { useChange, usePages, useRead } from '../../api';
import { Id, Money, moneyText, When } from '../../format';
import { Async, Badge, Button, Empty, Facts, Failure, Loading, More, Notice, Page, Panel, Segmented, Sheet,
    toast } from '../../kit';
import { useQuery } from '../../router';
import { transferState } from '../../words';
import { NoHost } from './earnings';
import { isNoHostYet } from './later';
import { PayoutForm } from './payout_form';

type Payout = Item<'list_payouts'>;

export default function Payouts() {
    const [query, setQuery] = useQuery();
    const asset = query.asset === 'USDT' ? 'USDT' as const : 'USDC' as const;
    const earnings = useRead('show_earnings', { query: { asset } }, { every: 30 });
    if (isNoHostYet(earnings.error)) return <Page title="Payouts" crumbs={[['Machines', '/host']]}><NoHost /></Page>;
    return <Page title="Payouts" crumbs={[['Machines', '/host']]}
        actions={<Segmented label="Token" value={asset} options={[['USDC', 'USDC'], ['USDT', 'USDT']]}
            onChange={(chosen) => setQuery({ asset: chosen === 'USDC' ? undefined : chosen }, { replace: true })} />}>
        <div class="cols">
            <div class="stack">
                <Async read={earnings} rows={6}>{(told) => <>
                    {BigInt(told.payable_micro) === 0n
                        ? <Panel title="Pay out"><Empty title="Nothing is ready yet.">
                            {BigInt(told.maturing_micro) > 0n
                                ? `${moneyText(told.maturing_micro, 2, asset)} matures: it can be paid out `
                                    + `${told.payout_delay_hours} h after it was earned.`
                                : 'What you earn can be paid out to an address of yours, whenever you like.'}
                        </Empty></Panel>
                        : <PayoutForm key={asset} asset={asset} payable={told.payable_micro} />}
                </>}</Async>
                <List />
            </div>
            <aside class="stack" aria-label="Where the money is">
                <Async read={earnings} rows={4}>{(told) => <Panel title="Ready to pay out"
                    footer={<a href="/host/earnings">Earnings by day</a>}>
                    <div class="figure" title={moneyText(told.payable_micro, 6, asset)}>
                        {moneyText(told.payable_micro, 2)} <small>{asset}</small></div>
                    <Facts items={[
                        ['Maturing', <Money micro={told.maturing_micro} asset={asset} />],
                        told.next_payable_at !== null && ['The next of it', <When at={told.next_payable_at} />],
                        ['Held for disputes', <Money micro={told.disputed_micro} asset={asset} />],
                        ['On its way', <Money micro={told.requested_micro} asset={asset} />],
                        ['Paid out so far', <Money micro={told.settled_micro} asset={asset} />],
                        BigInt(told.debt_micro) > 0n && ['You owe', <Money micro={told.debt_micro} asset={asset} />],
                    ]} />
                </Panel>}</Async>
            </aside>
        </div>
    </Page>;
}

const waits: Record<string, string> = {
    day_cap: 'Today’s sum for all accounts is reached',
    account_cap: 'Your sum of today is reached',
    cooling_off: 'The address is new and cools off',
    payouts_paused: 'Payouts are paused',
    suspended: 'Your account is suspended',
    settlement_hold: 'Held while books and chain are compared',
    second_admin: 'A second operator looks at it',
    gas: 'Waits for gas',
    chain: 'Not final on the chain yet',
};

function waitText({ waits_for }: Payout): string | undefined {
    return waits_for === null ? undefined : waits[waits_for] ?? waits_for;
}

const canCancel = ({ state }: Payout) => state === 'INTENT' || state === 'AWAITING_EMAIL_CONFIRMATION';

function List() {
    const payouts = usePages('list_payouts', {}, { every: 10 });
    const [chosen, setChosen] = useState<Payout>();
    const items = payouts.items;
    return <Panel title="Payouts so far" flush footer={payouts.hasMore ? <More list={payouts} /> : undefined}>
        {payouts.error ? <Failure error={payouts.error} retry={payouts.refetch} />
            : !items ? <Loading rows={3} />
            : items.length === 0 ? <Empty title="None yet.">Each payout stands here with its transaction.</Empty>
            : <table class="table dense cardlike" role="table">
                <caption class="sr">Your payouts, newest first</caption>
                <thead role="rowgroup"><tr role="row">
                    {['Asked for', 'State', 'To', 'Transaction'].map((head) =>
                        <th key={head} scope="col" role="columnheader">{head}</th>)}
                    <th scope="col" role="columnheader" class="r">Amount</th>
                    <th scope="col" role="columnheader"><span class="sr">Action</span></th>
                </tr></thead>
                <tbody role="rowgroup">{items.map((payout) =>
                    <PayoutRow key={payout.id} payout={payout} onCancel={() => setChosen(payout)} />)}</tbody>
            </table>}
        {chosen && <CancelSheet payout={chosen} onClose={() => setChosen(undefined)} />}
    </Panel>;
}

function PayoutRow({ payout, onCancel }: { payout: Payout; onCancel: () => void }) {
    const { word, tone } = transferState(payout.state);
    const why = waitText(payout) ?? payout.reason ?? undefined;
    return <tr role="row">
        <td role="cell"><When at={payout.created_at} /></td>
        <td role="cell" data-name="State"><div class="tight">
            <span><Badge tone={tone}>{word}</Badge></span>
            {why && <span class="small muted">{why}
                {payout.waits_until && <>, until <When at={payout.waits_until} /></>}</span>}
        </div></td>
        <td role="cell" data-name="To"><Id value={payout.address} what="address" /></td>
        <td role="cell" data-name="Transaction">{payout.tx_hash ? <Id value={payout.tx_hash} what="transaction" />
            : <span class="muted">not sent yet</span>}</td>
        <td role="cell" data-name="Amount" class="r"><Money micro={payout.amount_micro} asset={payout.asset} /></td>
        <td role="cell" class="r">{canCancel(payout) && <Button small onClick={onCancel}>Call off</Button>}</td>
    </tr>;
}

function CancelSheet({ payout, onClose }: { payout: Payout; onClose: () => void }) {
    const cancel = useChange('cancel_payout', {
        refresh: ['list_payouts', 'show_earnings'], done: () => { toast('Called off. The money is back.'); onClose(); },
    });
    return <Sheet title="Call the payout off" open onClose={onClose} actions={<>
        <Button kind="danger" busy={cancel.busy} onClick={() => void cancel.run({ path: { id: payout.id } })}>
            Call off {moneyText(payout.amount_micro, 2, payout.asset)}</Button>
        <Button onClick={onClose}>Keep it</Button>
    </>}>
        <p class="soft">{moneyText(payout.amount_micro, 6, payout.asset)} is ready to pay out again at once. What was
            signed already cannot be called off.</p>
        {cancel.error && (cancel.error.status === 409
            ? <Notice tone="lamp" title="Too late: it is on its way." role="alert">{cancel.error.message}</Notice>
            : <Failure error={cancel.error} />)}
    </Sheet>;
}
