// Is anything wrong? What waits for an operator; what does not is quiet.
import type { Answer } from 'berth-client';
import { useRead } from '../../api';
import { Ago, count, Money, plural } from '../../format';
import { Async, Badge, Notice, Page, Panel, Table } from '../../kit';

type Overview = Answer<'show_overview'>;
interface Waiting { count: number | string; more: boolean; oldest_at: string | null }
interface Kind { name: keyof Overview; label: string; href: string; grave?: boolean }

const kinds: Kind[] = [
    { name: 'dead_tasks', label: 'Tasks that died', href: '/operate/tasks?state=dead', grave: true },
    { name: 'stuck_transfers', label: 'Transfers that are stuck', href: '/operate/search', grave: true },
    { name: 'stuck_rentals', label: 'Rentals that are stuck', href: '/operate/rentals', grave: true },
    { name: 'pending_actions', label: 'Steps that wait for a second operator', href: '/operate/pending?state=waiting' },
    { name: 'disputes', label: 'Open disputes', href: '/operate/disputes?state=open' },
    { name: 'tickets', label: 'Tickets that wait for us', href: '/operate/tickets?state=open' },
    { name: 'suspense', label: 'Deposits that nobody claimed', href: '/operate/suspense?state=SUSPENSE' },
    { name: 'held_transfers', label: 'Transfers that are held back', href: '/operate/search' },
    { name: 'quarantined_machines', label: 'Machines set aside', href: '/operate/machines?state=QUARANTINED' },
    { name: 'debts', label: 'Accounts that owe', href: '/operate/users' },
];

export default function Operate() {
    const read = useRead('show_overview', {}, { every: 15 });
    return <Page title="Overview" facts="What waits for an operator." live={read.data && <>counted <Ago at={read.data.as_of} /></>}>
        <Async read={read} rows={8}>{(overview) => <div class="stack">
            <Pauses overview={overview} />
            <WhatWaits overview={overview} />
            <Cover overview={overview} />
        </div>}</Async>
    </Page>;
}

function Pauses({ overview }: { overview: Overview }) {
    return <>
        {overview.admission_paused && <Notice tone="lamp" title="New rentals are paused">What runs goes on.</Notice>}
        {overview.payouts_paused && <Notice tone="lamp" title="Payouts are paused">Nothing that leaves is signed.</Notice>}
    </>;
}

function WhatWaits({ overview }: { overview: Overview }) {
    const waiting = kinds.map((kind) => ({ ...kind, ...(overview[kind.name] as unknown as Waiting) }));
    const some = waiting.filter((each) => Number(each.count) > 0)
        .sort((one, other) => Number(other.grave ?? false) - Number(one.grave ?? false));
    if (some.length === 0) return <Notice tone="go" title="Nothing waits" heading>
        {`${kinds.length} kinds of trouble were looked for.`}</Notice>;
    return <Panel title={`${plural(some.length, 'kind')} of work`} flush
        footer={`Quiet: ${waiting.filter((each) => Number(each.count) === 0).map(({ label }) => label.toLowerCase()).join(', ') || 'nothing'}.`}>
        <Table caption="What waits" rows={some} keyOf={({ name }) => name} href={({ href }) => href} columns={[
            { head: 'What', cell: ({ label }) => <span class="strong">{label}</span> },
            { head: 'How many', right: true, cell: (each) => <Badge tone={each.grave ? 'stop' : 'lamp'}>
                {count(each.count)}{each.more && ' and more'}</Badge> },
            { head: 'Oldest', right: true, cell: ({ oldest_at }) => oldest_at ? <Ago at={oldest_at} /> : '' },
        ]} />
    </Panel>;
}

function Cover({ overview: { cover, chain } }: { overview: Overview }) {
    return <Panel title="Is the money there?" flush footer={chain
        ? <>The chain was read <Ago at={chain.looked_at} />, {count(chain.lag_blocks)} final blocks behind.</>
        : 'This process does not read the chain.'}>
        {cover.length === 0 ? <p class="soft body">No proof of liabilities was made yet.</p>
            : <Table caption="Cover" dense rows={cover} keyOf={({ asset }) => asset} columns={[
                { head: 'Asset', cell: ({ asset }) => asset },
                { head: 'Owed', right: true, cell: ({ owed_micro }) => <Money micro={owed_micro} asset={null} places={6} /> },
                { head: 'Held', right: true, cell: ({ held_micro }) => <Money micro={held_micro} asset={null} places={6} /> },
                { head: 'Cover', right: true, cell: ({ cover_bps }) => cover_bps === null ? 'not known'
                    : <Badge tone={Number(cover_bps) >= 10_000 ? 'go' : 'stop'}>{(Number(cover_bps) / 100).toFixed(2)} %</Badge> },
                { head: 'As of', right: true, cell: ({ as_of }) => <Ago at={as_of} /> },
            ]} />}
    </Panel>;
}
