// Where money may go, and the wallets it comes from.
import type { Answer } from 'berth-client';
import { useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { Ago, When } from '../../format';
import {
    Async, Badge, Button, CodeInput, Copy, Empty, Failure, Field, Notice, Panel, Table, TextInput, toast,
} from '../../kit';
import { useSession } from '../../session';
import { addressState } from '../../words';
import { BoxMail } from '../money/box';
import { brief, isAddress } from '../money/wallet';
import { Ask } from './ask';
import { Wallets } from './wallets';

type Address = Answer<'list_withdrawal_addresses'>['items'][number];

export function Addresses() {
    const read = useRead('list_withdrawal_addresses', {}, { every: 15 });
    const [removing, setRemoving] = useState<Address>();
    return <div class="stack">
        <Panel title="Withdrawal addresses" flush footer="API keys reach saved addresses only.">
            <Async read={read} rows={2}>{({ items }) => items.length === 0
                ? <Empty title="None saved.">Save one here, or name it with your first withdrawal.</Empty>
                : <Table caption="Addresses that money can be sent to" rows={items}
                    keyOf={({ address_id }) => address_id} columns={[
                        { head: 'Name', cell: (row) => row.label ?? <span class="muted">without a name</span> },
                        { head: 'Address', cell: (row) => <span class="mono" title={row.address}>
                            {brief(row.address)} <Copy text={row.address} label="the address" /></span> },
                        { head: 'State', cell: (row) => <State address={row} /> },
                        { head: 'Last used', cell: (row) => row.last_used_at ? <Ago at={row.last_used_at} />
                            : <span class="muted">never</span> },
                        { head: <span class="sr">Action</span>, right: true,
                            cell: (row) => <Button small onClick={() => setRemoving(row)}>Remove</Button> },
                    ]} />}</Async>
        </Panel>
        <AddAddress />
        <Wallets />
        {removing && <Remove address={removing} onClose={() => setRemoving(undefined)} />}
    </div>;
}

function State({ address }: { address: Address }) {
    const { word, tone } = addressState(address.state);
    return <span class="tight">
        <span><Badge tone={tone}>{word}</Badge></span>
        {address.expires_at && <span class="small muted">until <When at={address.expires_at} /></span>}
    </span>;
}

function AddAddress() {
    const session = useSession();
    const needsCode = session?.mfa_enrolled === true;
    const [form, setForm] = useState({ address: '', label: '', code: '' });
    const [fault, setFault] = useState<string>();
    const [isMailed, setIsMailed] = useState(false);
    const add = useChange('add_withdrawal_address', {
        refresh: ['list_withdrawal_addresses'],
        done: ({ state }) => {
            setForm({ address: '', label: '', code: '' });
            setIsMailed(state === 'AWAITING_EMAIL_CONFIRMATION');
            if (state === 'SAVED') toast('The address is saved.');
        },
    });
    const isWrong = add.error?.code === 'AUTHORIZATION_INVALID';
    const told = (member: string) => fieldError(add.error, `body.${member}`);
    const isBeside = isWrong || ['address', 'label', 'code'].some(told);
    function give(event: Event) {
        event.preventDefault();
        const [address, label] = [form.address.trim(), form.label.trim()];
        setFault(isAddress(address) ? undefined : '0x and 40 digits.');
        if (!isAddress(address)) return;
        const code = needsCode ? { code: form.code } : {};
        void add.run({ body: { network: 'base', address, ...(label && { label }), ...code } });
    }
    return <Panel title="Save an address">
        <form class="stack" onSubmit={give} noValidate>
            {isMailed && <Notice tone="lamp" role="status" title="We mailed you a link">
                <p>The address is saved once you used it.</p><BoxMail />
            </Notice>}
            <div class="two">
                <Field label="Address on Base" error={fault ?? told('address')}>
                    {(ids) => <TextInput {...ids} mono value={form.address} placeholder="0x…"
                        onInput={(address) => setForm({ ...form, address })} />}
                </Field>
                <Field label="What to call it (optional)" error={told('label')}>
                    {(ids) => <TextInput {...ids} value={form.label} maxLength={40}
                        onInput={(label) => setForm({ ...form, label })} />}
                </Field>
                {needsCode && <Field label="Code of your authenticator"
                    error={isWrong ? 'That code is wrong or used. Wait for the next.' : told('code')}>
                    {(ids) => <CodeInput {...ids} value={form.code} onInput={(code) => setForm({ ...form, code })} />}
                </Field>}
            </div>
            {add.error && !isBeside && <Failure error={add.error} />}
            <div class="actions">
                <Button type="submit" kind="primary" busy={add.busy}
                    disabled={form.address.trim() === '' || (needsCode && form.code.length !== 6)}>Save it</Button>
            </div>
        </form>
    </Panel>;
}

function Remove({ address, onClose }: { address: Address; onClose: () => void }) {
    const remove = useChange('remove_withdrawal_address', {
        refresh: ['list_withdrawal_addresses', 'list_withdrawals', 'show_balances'],
        done: () => { onClose(); toast('The address is removed.'); },
    });
    return <Ask title={`Remove ${address.label ?? brief(address.address)}?`} action="Remove it" keep="Keep it"
        busy={remove.busy} error={remove.error} onClose={onClose}
        onDo={() => void remove.run({ path: { id: address.address_id } })}>
        <p>What waits to be sent there is called off, and its money is back at once.</p>
    </Ask>;
}
