// Every machine of the market.
import type { Item } from 'berth-client';
import { Ago, Id, visible } from '../../format';
import { Badge, Page } from '../../kit';
import { machineState, reach } from '../../words';
import { choices, DeskList, humanly } from './desk_list';

const states = ['QUARANTINED', 'UNQUALIFIED', 'UNLISTED', 'DRAINING', 'CLEANING', 'AVAILABLE', 'ALLOCATED'];

export default function Machines() {
    return <Page title="Machines" facts="Of all hosts.">
        <DeskList operation="list_all_machines" caption="Machines" keyOf={({ machine_id }) => machine_id}
            href={({ machine_id }) => `/operate/machines/${machine_id}`}
            filters={[{ name: 'state', label: 'State', options: choices(states, (state) => machineState(state).word) },
                { name: 'test', label: 'Test', options: choices(['waiting', 'testing', 'passed', 'retrying', 'needs_attention']) },
                { name: 'reach', label: 'Reached', options: choices(['direct', 'gate'], reach) },
                { name: 'owner', label: 'Host' }]}
            empty="No machine matches." columns={[
                { head: 'Machine', cell: (machine) => <><span class="strong">{machineName(machine)}</span><small><Id value={machine.machine_id} /></small></> },
                { head: 'State', cell: ({ state }) => <Badge state={state}>{machineState(state).word}</Badge> },
                { head: 'Test', cell: ({ test, test_reason }) => <>{humanly(test)}{test_reason && <small>{visible(test_reason)}</small>}</> },
                { head: 'Set aside by', cell: ({ quarantined_by }) => quarantined_by ? humanly(quarantined_by) : '', narrow: 'hide' },
                { head: 'Host', cell: ({ owner }) => <Id value={owner} />, narrow: 'hide' },
                { head: 'Heard', cell: ({ last_healthy_at }) => last_healthy_at ? <Ago at={last_healthy_at} /> : 'never', right: true },
            ]} />
    </Page>;
}

export function machineName({ label, gpu_model, gpu_count }: Item<'list_all_machines'>): string {
    if (label) return visible(label);
    if (!gpu_model) return 'Nothing known yet';
    const model = visible(gpu_model);
    return gpu_count && gpu_count > 1 ? `${gpu_count} × ${model}` : model;
}
