// One account: what it has, what runs for it, and what may be done about it.
import type { Answer } from 'berth-client';
import { useState } from 'preact/hooks';
import { useRead } from '../../api';
import { Ago, Id, Money, When, visible } from '../../format';
import { Async, Badge, Button, Empty, Facts, Page, Panel, Stats, Table } from '../../kit';
import { useParams } from '../../router';
import { jobState, machineState, role, transferKind, transferState } from '../../words';
import { Notes } from './user_notes';
import { stepsFor, UserStep, type Step } from './user_steps';

export type User = Answer<'show_user'>;

export default function OneUser() {
    const { id = '' } = useParams();
    const read = useRead('show_user', { path: { id } }, { every: 60 });
    return <Async read={read}>{(user) => <Shown user={user} />}</Async>;
}

function Shown({ user }: { user: User }) {
    const [step, setStep] = useState<Step>();
    return <Page title={visible(user.email ?? user.agent?.name ?? 'Account')} crumbs={[['Users', '/operate/users']]}
        facts={<><Standing user={user} /><Id value={user.user_id} /></>}
        actions={stepsFor(user).map((each) => <Button key={each.title} small onClick={() => setStep(each)}
            {...(each.danger ? { kind: 'danger' as const } : {})}>{each.button}</Button>)}>
        <div class="stack">
            <Balances user={user} />
            <div class="two"><Who user={user} /><Notes user={user} /></div>
            <Rentals user={user} />
            <Machines user={user} />
            <Transfers user={user} />
            <Access user={user} />
        </div>
        {step && <UserStep key={step.title} user={user} step={step} onClose={() => setStep(undefined)} />}
    </Page>;
}

function Standing({ user }: { user: User }) {
    return <>
        <Badge plain>{role(user.role)}{user.desk_role ? `, ${user.desk_role}` : ''}</Badge>
        {user.suspended && <Badge tone="stop">Suspended</Badge>}
        {user.frozen && <Badge tone="lamp">Money frozen</Badge>}
        {user.closed_at && <Badge tone="slack">Closed</Badge>}
    </>;
}

function Balances({ user }: { user: User }) {
    const some = user.balances.length > 0 ? user.balances : [];
    if (some.length === 0) return <Panel title="Balances"><p class="soft">It has had no money yet.</p></Panel>;
    return <Panel title="Balances"><div class="stack">{some.map((balance) => <Stats key={balance.asset} items={[
        [`Available, ${balance.asset}`, <Money micro={balance.available_micro} asset={null} />],
        ['Held', <Money micro={balance.held_micro} asset={null} />],
        ['Ready to pay out', <Money micro={balance.payable_micro} asset={null} />],
        ['In dispute', <Money micro={balance.escrow_micro} asset={null} />],
        ['On its way out', <Money micro={balance.reserved_micro} asset={null} />],
        ['Credits', <Money micro={balance.credit_micro} asset={null} />],
    ]} />)}</div></Panel>;
}

function Who({ user }: { user: User }) {
    return <Panel title="Who">
        <Facts items={[
            ['Kind', user.account_kind === 'agent' ? 'An agent’s account' : 'A person'],
            user.agent && ['Agent', visible(`${user.agent.name}, ${user.agent.vendor}`)],
            ['Since', <When at={user.created_at} />],
            ['Last here', user.last_sign_in_at ? <Ago at={user.last_sign_in_at} /> : 'never'],
            ['Authenticator', user.mfa_enrolled ? 'yes' : 'no'],
            user.former_emails.length > 0 && ['Formerly', visible(user.former_emails.join(', '))],
            user.closed_at && ['Closed', <When at={user.closed_at} />],
            user.erase_at && ['Erased on', <When at={user.erase_at} />],
        ].filter(Boolean) as [string, preact.ComponentChildren][]} />
        <p class="row"><a href={`/operate/rentals?renter=${user.user_id}`}>Rentals</a>
            <a href={`/operate/tickets?account_id=${user.user_id}`}>Tickets</a>
            <a href={`/operate/audit?target_id=${user.user_id}`}>Audit</a></p>
    </Panel>;
}

function Rentals({ user }: { user: User }) {
    if (user.rentals.length === 0) return null;
    return <Panel title="Rentals" flush><Table caption="Rentals" dense rows={user.rentals}
        keyOf={({ job_id, side }) => job_id + side} href={({ job_id }) => `/operate/rentals/${job_id}`} columns={[
            { head: 'Rental', cell: ({ job_id }) => <Id value={job_id} /> },
            { head: 'Side', cell: ({ side }) => side === 'host' ? 'rents out' : 'rents' },
            { head: 'State', cell: ({ state }) => <Badge state={state}>{jobState(state).word}</Badge> },
            { head: 'Since', right: true, cell: ({ created_at }) => <When at={created_at} /> },
        ]} /></Panel>;
}

function Machines({ user }: { user: User }) {
    if (user.machines.length === 0) return null;
    return <Panel title="Machines" flush><Table caption="Machines" dense rows={user.machines}
        keyOf={({ machine_id }) => machine_id} href={({ machine_id }) => `/operate/machines/${machine_id}`} columns={[
            { head: 'Machine', cell: ({ label, gpu_model, machine_id }) => <>{visible(label ?? gpu_model ?? 'Nothing known yet')}<small><Id value={machine_id} /></small></> },
            { head: 'State', cell: ({ state }) => <Badge state={state}>{machineState(state).word}</Badge> },
            { head: 'Enrolled', right: true, cell: ({ enrolled_at }) => <When at={enrolled_at} /> },
        ]} /></Panel>;
}

function Transfers({ user }: { user: User }) {
    if (user.transfers.length === 0) return null;
    return <Panel title="Money on its way out" flush><Table caption="Transfers" dense rows={user.transfers}
        keyOf={({ transfer_id }) => transfer_id} columns={[
            { head: 'Transfer', cell: ({ kind, transfer_id }) => <>{transferKind(kind)}<small><Id value={transfer_id} /></small></> },
            { head: 'State', cell: ({ state }) => <Badge tone={transferState(state).tone}>{transferState(state).word}</Badge> },
            { head: 'To', cell: ({ address }) => <Id value={address} />, narrow: 'hide' },
            { head: 'Amount', right: true, cell: ({ amount_micro, asset }) => <Money micro={amount_micro} asset={asset} places={6} /> },
        ]} /></Panel>;
}

function Access({ user }: { user: User }) {
    return <Panel title="Who can act for it" flush>
        {user.keys.length + user.sessions.length === 0 ? <Empty title="Nobody at present." /> : <>
            {user.keys.length > 0 && <Table caption="Keys" dense rows={user.keys} keyOf={({ key_id }) => key_id} columns={[
                { head: 'Key', cell: ({ name, prefix }) => <>{visible(name)}<small class="mono">{prefix}…</small></> },
                { head: 'May', cell: ({ scopes }) => scopes.join(', ') },
                { head: 'Standing', cell: ({ revoked_at }) => revoked_at ? <Badge tone="slack">Revoked</Badge> : <Badge tone="go">Good</Badge> },
                { head: 'Last used', right: true, cell: ({ last_used_at }) => last_used_at ? <Ago at={last_used_at} /> : 'never' },
            ]} />}
            {user.sessions.length > 0 && <Table caption="Sessions" dense rows={user.sessions} keyOf={({ session_id }) => session_id} columns={[
                { head: 'Session', cell: ({ user_agent }) => <span class="wraps">{visible(user_agent || 'unknown program')}</span> },
                { head: 'From', cell: ({ opened_from }) => opened_from },
                { head: 'Last seen', right: true, cell: ({ last_seen_at }) => <Ago at={last_seen_at} /> },
            ]} />}
        </>}
    </Panel>;
}
