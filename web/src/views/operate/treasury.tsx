// What is held, by the books and by the chain, and movements of the operator's own money.
import type { Answer, Given } from 'berth-client';
import { useState } from 'preact/hooks';
import { money } from 'berth-client';
import { fieldError, useChange, useRead } from '../../api';
import { Ago, count, Id, Money, When } from '../../format';
import { AmountInput, Async, Badge, Button, Empty, Facts, Field, Page, Panel, Select, Table, TextInput, toast } from '../../kit';
import { Consequence, saidOf } from './consequence';
import { humanly } from './desk_list';

type Treasury = Answer<'show_treasury'>;
type Movement = Given<'book_treasury_movement'>['body'];

export default function TreasuryView() {
    const read = useRead('show_treasury', {}, { every: 30 });
    const [books, setBooks] = useState(false);
    return <Page title="Treasury" actions={<Button onClick={() => setBooks(true)}>Book a movement</Button>}>
        <Async read={read} rows={8}>{(treasury) => <Shown treasury={treasury} />}</Async>
        {books && <Book onClose={() => setBooks(false)} />}
    </Page>;
}

function Shown({ treasury }: { treasury: Treasury }) {
    return <div class="stack">
        <div class="two">{treasury.assets.map((asset) => <Asset key={asset.asset} asset={asset} />)}</div>
        <Panel title="Limits"><Facts items={[
            ['Payouts', treasury.limits.payouts_paused ? <Badge tone="lamp">Paused</Badge> : 'run'],
            ['Most a day', <Money micro={treasury.limits.payouts_day_max_micro} />],
            ['Most a day and account', <Money micro={treasury.limits.payouts_account_day_max_micro} />],
            ['Least of one', <Money micro={treasury.limits.transfer_min_micro} />],
        ]} /></Panel>
        <Panel title="Addresses that are watched" flush><Table caption="Addresses" dense rows={treasury.watched}
            keyOf={({ address, token }) => address + token} columns={[
                { head: 'Address', cell: ({ address }) => <Id value={address} /> },
                { head: 'Asset', cell: ({ asset }) => asset },
                { head: 'Read to block', right: true, cell: ({ read_to }) => read_to === null ? 'not yet' : count(read_to) },
            ]} /></Panel>
        <Panel title="Movements" flush>{treasury.movements.length === 0 ? <Empty title="None was booked yet." />
            : <Table caption="Movements" dense rows={treasury.movements} keyOf={({ tx_hash, kind }) => tx_hash + kind} columns={[
                { head: 'What', cell: ({ kind }) => humanly(kind) },
                { head: 'Amount', right: true, cell: ({ amount_micro, asset }) => <Money micro={amount_micro} asset={asset} places={6} /> },
                { head: 'Transaction', cell: ({ tx_hash }) => <Id value={tx_hash} />, narrow: 'hide' },
                { head: 'When', right: true, cell: ({ at }) => <When at={at} /> },
            ]} />}</Panel>
    </div>;
}

function Asset({ asset: { asset, token, books, observed } }: { asset: Treasury['assets'][number] }) {
    return <Panel title={asset} aside={<Id value={token} />}>
        <Facts items={[
            ['Of accounts', <Money micro={books.accounts_micro} asset={null} places={6} />],
            ['In suspense', <Money micro={books.suspense_micro} asset={null} places={6} />],
            ['Fees', <Money micro={books.fees_micro} asset={null} places={6} />],
            ['Our own', <Money micro={books.capital_micro} asset={null} places={6} />],
            observed && ['On the chain', <Money micro={observed.held_micro} asset={null} places={6} />],
            observed && ['Looked at', <Ago at={observed.as_of} />],
        ].filter(Boolean) as [string, preact.ComponentChildren][]} />
    </Panel>;
}

const movements: [Movement['kind'], string][] = [['fee_take_out', 'Fees were taken out'], ['top_up', 'We put money in'],
    ['to_cold', 'It went to cold storage'], ['gas', 'Gas was bought']];

function Book({ onClose }: { onClose: () => void }) {
    const [kind, setKind] = useState<Movement['kind']>('fee_take_out');
    const [asset, setAsset] = useState<Movement['asset']>('USDC');
    const [amount, setAmount] = useState('');
    const [hash, setHash] = useState('');
    const change = useChange('book_treasury_movement', { refresh: ['show_treasury'], done: (answer) => {
        toast(saidOf(answer, 'It is in the books'));
        onClose();
    } });
    const run = (reason: string) => void change.run({ body: { kind, asset, amount_micro: String(money.fromUnits(amount)),
        tx_hash: hash.trim() || null, reason } });
    return <Consequence title="Book a movement" open onClose={onClose} button="Book it" busy={change.busy}
        error={change.error} blocked={!/^\d+(\.\d{1,6})?$/.test(amount)} run={run}>
        <p>It is checked on the chain; nothing is sent by this.</p>
        <Field label="What happened">{(ids) => <Select {...ids} value={kind} options={movements as [string, string][]}
            onChange={(value) => setKind(value as Movement['kind'])} />}</Field>
        <Field label="Asset">{(ids) => <Select {...ids} value={asset} options={[['USDC', 'USDC'], ['USDT', 'USDT']]}
            onChange={(value) => setAsset(value as Movement['asset'])} />}</Field>
        <Field label="Amount" error={fieldError(change.error, 'body.amount_micro')}>
            {(ids) => <AmountInput {...ids} value={amount} onInput={setAmount} unit={asset} />}</Field>
        <Field label="Transaction" error={fieldError(change.error, 'body.tx_hash')}>
            {(ids) => <TextInput {...ids} value={hash} onInput={setHash} mono />}</Field>
    </Consequence>;
}
