// Gates, by which machines without a port of their own are reached, and how much each carries.
import type { Answer } from 'berth-client';
import { useRead } from '../../api';
import { Ago, bytes, count, Id, percent } from '../../format';
import { Async, Badge, Code, Empty, Page, Panel, Table } from '../../kit';
import { continent } from '../../words';

type Gate = Answer<'list_all_gates'>['items'][number];

export default function Gates() {
    const read = useRead('list_all_gates', {}, { every: 10 });
    return <Page title="Gates" facts="Where machines behind a router are reached.">
        <Panel flush label="Gates">
            <Async read={read} rows={4}>{({ items }) => items.length === 0 ? <NoGate />
                : <Shown gates={items} />}</Async>
        </Panel>
        <p class="row"><a href="/operate/machines?reach=gate">Machines that are reached by a gate</a></p>
    </Page>;
}

function NoGate() {
    return <Empty title="There is no gate.">
        <p>Without one, only machines with an open port can be rented. On a machine with a public address:</p>
        <Code text="berth-gate init --dir /var/lib/berth-gate --host gate.example.org" label="the command" wrap />
        <p>It prints the line that adds it to the service.</p>
    </Empty>;
}

function stateOf({ live, draining, drained_at, heard_at }: Gate) {
    if (live) return <Badge tone="go">Carries</Badge>;
    if (drained_at) return <Badge tone="slack">Taken out</Badge>;
    if (draining) return <Badge tone="lamp">Draining</Badge>;
    return <Badge tone="stop">{heard_at ? 'Silent' : 'Never heard'}</Badge>;
}

function portsText({ doors, ports_from, ports_to, ports_used_percent }: Gate): string {
    return `${count(doors)} of ${count(ports_to - ports_from + 1)}, ${percent(ports_used_percent / 100)}`;
}

function Shown({ gates }: { gates: readonly Gate[] }) {
    return <Table caption="Gates" rows={gates} keyOf={({ gate_id }) => gate_id} dense columns={[
        { head: 'Gate', cell: ({ host, gate_id }) => <><span class="strong">{host}</span>
            <small><Id value={gate_id} /></small></> },
        { head: 'State', cell: stateOf },
        { head: 'Doors', right: true, cell: portsText },
        { head: 'Streams', right: true, cell: ({ streams }) => count(streams) },
        { head: 'To renters', right: true, cell: ({ bytes_out }) => bytes(bytes_out), narrow: 'hide' },
        { head: 'From renters', right: true, cell: ({ bytes_in }) => bytes(bytes_in), narrow: 'hide' },
        { head: 'Where', cell: (gate) => gate.continent ? continent(gate.continent) : 'anywhere', narrow: 'hide' },
        { head: 'Heard', right: true, cell: ({ heard_at }) => heard_at ? <Ago at={heard_at} /> : 'never' },
    ]} />;
}
