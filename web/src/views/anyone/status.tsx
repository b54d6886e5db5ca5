// Is it the service or oneself? One sentence first, then the parts.
import { useRead } from '../../api';
import { Ago, now, When } from '../../format';
import { Async, Badge, Facts, Loading, Notice, Page, Panel, type NoticeTone } from '../../kit';
import type { Answer } from 'berth-client';

const parts: Record<string, [string, string]> = {
    api: ['Requests', 'Everything that pages and programs ask'],
    records: ['Records', 'Where accounts, rentals and money are written down'],
    background: ['Background work', 'Starting, metering and settling rentals'],
    chain: ['Chain', 'Seeing money come in'],
    mail: ['Mail', 'Codes and notices'],
    payments: ['Payments out', 'Withdrawals and payouts'],
    liabilities: ['Cover', 'Whether the treasury has all that is owed'],
    locations: ['Places', 'Knowing on which continent a machine is'],
};

const states: Record<string, ['go' | 'lamp' | 'stop', string]> = { operational: ['go', 'Works'],
    degraded: ['lamp', 'Limited'], down: ['stop', 'Down'] };

type Status = Answer<'public_status'>;

function sentence(status: Status): { tone: NoticeTone; title: string; more: string } {
    const bad = status.components.filter((each) => each.status !== 'operational');
    const names = bad.map((each) => parts[each.name]?.[0] ?? each.name).join(', ');
    if (status.status === 'down') return { tone: 'stop', title: 'The service is down. It is not you.',
        more: 'Rentals that run go on; what happens meanwhile is settled afterwards.' };
    if (status.status === 'degraded') return { tone: 'lamp', title: 'Something is limited. It is not you.',
        more: `Not as it should be: ${names}.` };
    return { tone: 'go', title: 'Everything works.', more: bad.length > 0 ? `Only small things are amiss: ${names}.`
        : 'If something does not work for you, look at your connection, then write to us.' };
}

export default function StatusPage() {
    const read = useRead('public_status', {}, { every: 15 });
    return <Page title="Status" live={read.updatedAt > 0 && <>Looked <Ago at={now() - (Date.now() - read.updatedAt)} /></>}
        actions={<a class="btn small" href="/help">Write to us</a>}>
        {read.error && <Notice tone="stop" role="alert" title="The service does not answer.">
            <p>It is down, or the line between you and it is. This page goes on trying.</p></Notice>}
        {!read.error && <Async read={read} rows={8}>{(status) => <Shown status={status} />}</Async>}
    </Page>;
}

function Shown({ status }: { status: Status }) {
    const { tone, title, more } = sentence(status);
    return <div class="stack">
        <Notice tone={tone} role="status" title={title}>{more}</Notice>
        {status.admission_paused && <Notice tone="lamp" title="New rentals are paused.">What runs goes on.</Notice>}
        <div class="split">
            <Panel title="Parts" flush><table class="table"><caption class="sr">Parts of the service</caption>
                <thead><tr><th scope="col">Part</th><th scope="col">What it is for</th>
                    <th scope="col" class="r">State</th></tr></thead>
                <tbody>{status.components.map((each) => <Part key={each.name} {...each} />)}</tbody></table></Panel>
            <aside class="stack"><Servers /><Panel title="Version"><Facts items={[
                ['Server', status.version], ['API', status.contract_version],
                    ['As of', <When at={status.updated_at} />],
            ]} /></Panel></aside>
        </div>
    </div>;
}

function Part({ name, status }: { name: string; status: string }) {
    const [title, purpose] = parts[name] ?? [name, ''];
    const [tone, word] = states[status] ?? ['lamp', status];
    return <tr><td class="strong">{title}</td><td class="soft">{purpose}</td>
        <td class="r"><Badge tone={tone}>{word}</Badge></td></tr>;
}

type Ready = Answer<'readiness'>;
const checkNames: Record<string, string> = { db: 'Database', worker: 'Background', chain: 'Chain nodes', mail: 'Mail',
    settler: 'Payments out', locations: 'Table of places', liabilities: 'Cover', requests: 'Room for requests' };
const checkStates: Record<string, ['go' | 'stop' | 'slack', string]> = { ok: ['go', 'Fine'], failed: ['stop', 'Failed'],
    off: ['slack', 'Not used'] };

/** The server's own look at itself; one that is not ready says so with a bad status and the same body. */
function Servers() {
    const read = useRead('readiness', {}, { every: 15 });
    const ready = (read.data ?? read.error?.body) as Ready | undefined;
    if (read.isLoading) return <Panel title="This server"><Loading rows={8} /></Panel>;
    if (!ready?.checks) return null;
    return <Panel title="This server" aside={ready.status === 'ready' ? 'ready' : 'not ready'}>
        <Facts items={Object.entries(ready.checks).map(([name, state]) => {
            const [tone, word] = checkStates[String(state)] ?? ['slack', String(state)];
            return [checkNames[name] ?? name, <Badge tone={tone}>{word}</Badge>] as const;
        })} />
    </Panel>;
}
