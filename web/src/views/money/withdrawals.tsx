// Withdrawals and how far each is.
import type { Item } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange, usePages } from '../../api';
import { Money, When } from '../../format';
import { Badge, Button, Copy, Empty, Failure, Loading, More, Panel, Sheet, Table, toast } from '../../kit';
import { transferState } from '../../words';
import { BoxMail } from './box';
import { brief } from './wallet';

type Transfer = Item<'list_withdrawals'>;

const waits: Record<string, string> = {
    day_cap: 'The cap of the day for all accounts is reached. It goes on tomorrow.',
    account_cap: 'The cap of the day for your account is reached.',
    cooling_off: 'The address is new and rests for a while, in case it was not you.',
    payouts_paused: 'Payments are paused. Yours is in line.',
    suspended: 'The account is suspended.',
    settlement_hold: 'The books are being compared with the chain.',
    second_admin: 'A second person looks at it.',
    gas: 'The fees of the network are too high at the moment.',
    chain: 'The chain cannot be reached at the moment.',
};

export function Withdrawals() {
    const list = usePages('list_withdrawals', {}, { every: 10 });
    const [asked, setAsked] = useState<Transfer>();
    return <Panel title="Withdrawals" flush>
        {list.error && <Failure error={list.error} retry={list.refetch} />}
        {list.isLoading && <Loading rows={3} />}
        {list.items?.length === 0 && <Empty title="None yet.">
            One that was asked for is in line within a second, on the chain within minutes, and paid once it is final.
        </Empty>}
        {list.items && list.items.length > 0 && <Table caption="Your withdrawals, newest first" rows={list.items}
            keyOf={({ id }) => id} columns={[
                { head: 'Amount', cell: (row) => <Money micro={row.amount_micro} asset={row.asset} /> },
                { head: 'To', cell: (row) => <span class="mono" title={row.address}>{brief(row.address)}</span> },
                { head: 'How far', cell: (row) => <Progress transfer={row} /> },
                { head: 'Asked for', cell: (row) => <When at={row.created_at} /> },
                { head: <span class="sr">Action</span>, right: true, cell: (row) => isOpen(row)
                    && <Button small onClick={() => setAsked(row)}>Call off</Button> },
            ]} />}
        <More list={list} />
        {asked && <CallOff transfer={asked} onClose={() => setAsked(undefined)} />}
    </Panel>;
}

function isOpen({ state }: Transfer): boolean {
    return state === 'INTENT' || state === 'AWAITING_EMAIL_CONFIRMATION';
}

function Progress({ transfer }: { transfer: Transfer }) {
    const { word, tone } = transferState(transfer.state);
    const wait = transfer.waits_for ? waits[transfer.waits_for] ?? `It waits: ${transfer.waits_for}.` : undefined;
    return <div class="tight">
        <div><Badge tone={tone}>{word}</Badge></div>
        {wait && <span class="small muted">
            {wait}{transfer.waits_until && <> Until <When at={transfer.waits_until} />.</>}
        </span>}
        {transfer.reason && <span class="small muted">{transfer.reason}</span>}
        {transfer.state === 'AWAITING_EMAIL_CONFIRMATION' && <>
            <span class="small muted">Use the link that we mailed to you.</span><BoxMail />
        </>}
        {transfer.tx_hash && <span class="small mono" title={transfer.tx_hash}>{brief(transfer.tx_hash)}{' '}
            <Copy text={transfer.tx_hash} label="the transaction" /></span>}
    </div>;
}

function CallOff({ transfer, onClose }: { transfer: Transfer; onClose: () => void }) {
    const cancel = useChange('cancel_withdrawal', {
        refresh: ['list_withdrawals', 'show_balances', 'list_entries'],
        done: () => { onClose(); toast('Called off. The money is back.'); },
    });
    return <Sheet title="Call this withdrawal off?" open onClose={onClose} actions={<>
        <Button kind="danger" busy={cancel.busy} onClick={() => void cancel.run({ path: { id: transfer.id } })}>
            Call it off
        </Button>
        <Button onClick={onClose}>Keep it</Button>
    </>}>
        <p><Money micro={transfer.amount_micro} asset={transfer.asset} /> to{' '}
            <span class="mono">{brief(transfer.address)}</span> comes back to your balance at once.</p>
        {cancel.error && <Failure error={cancel.error} />}
    </Sheet>;
}
