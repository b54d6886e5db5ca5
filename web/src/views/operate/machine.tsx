// One machine, as an operator sees it, and what may be done with it.
import type { Given, Item } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange, usePages } from '../../api';
import { Ago, Id, When, visible } from '../../format';
import { Badge, Button, Empty, Facts, Failure, Loading, Page, Panel, toast } from '../../kit';
import { useParams } from '../../router';
import { machineState, reach } from '../../words';
import { Consequence } from './consequence';
import { humanly } from './desk_list';
import { machineName } from './machines';
import { ActionEffects } from './effects';

type Machine = Item<'list_all_machines'>;
type Action = Given<'act_on_machine'>['body']['action'];

const words: Record<Action, { button: string; title: string; danger?: boolean }> = {
    quarantine: { button: 'Set it aside', title: 'Set this machine aside', danger: true },
    release: { button: 'Let it back', title: 'Let this machine back' },
    verify: { button: 'Call it verified', title: 'Call this machine verified' },
    unverify: { button: 'Take that back', title: 'Call this machine verified no more' },
    retire: { button: 'Retire it', title: 'Retire this machine for good', danger: true },
};

function actionsOf({ state, verification_level, retired_at }: Machine): Action[] {
    if (retired_at) return [];
    return [state === 'QUARANTINED' ? 'release' : 'quarantine',
        verification_level === 'manually_verified' ? 'unverify' : 'verify', 'retire'];
}

export default function OperatorsMachine() {
    const { id = '' } = useParams();
    const list = usePages('list_all_machines', { query: { machine: id } as never }, { every: 30 });
    const machine = list.items?.find(({ machine_id }) => machine_id === id);
    const [action, setAction] = useState<Action>();
    if (list.error) return <Page title="Machine"><Failure error={list.error} retry={list.refetch} /></Page>;
    if (!list.items) return <Page title="Machine"><Loading /></Page>;
    if (!machine) return <Page title="Machine"><Empty title="There is no such machine." /></Page>;
    return <Page title={machineName(machine)} crumbs={[['Machines', '/operate/machines']]}
        facts={<><Badge state={machine.state}>{machineState(machine.state).word}</Badge><Id value={id} /></>}
        actions={actionsOf(machine).map((each) => <Button key={each} onClick={() => setAction(each)}
            {...(words[each].danger ? { kind: 'danger' as const } : {})}>{words[each].button}</Button>)}>
        <MachineFacts machine={machine} />
        {action && <MachineStep key={action} machine={machine} action={action} onClose={() => setAction(undefined)} />}
    </Page>;
}

function MachineFacts({ machine }: { machine: Machine }) {
    return <Panel title="What is known">
        <Facts items={[
            ['Host', <a href={`/operate/users/${machine.owner}`}><Id value={machine.owner} /></a>],
            ['Cards', machine.gpu_model ? `${machine.gpu_count} × ${visible(machine.gpu_model)}` : 'not measured'],
            ['Verified', humanly(machine.verification_level)],
            ['Offer', machine.offer ? humanly(machine.offer) : 'none'],
            ['Test', humanly(machine.test)],
            machine.test_reason && ['Why', visible(machine.test_reason)],
            ['Reached', reach(machine.reach)],
            machine.reach_why && ['Because', machine.reach_why],
            machine.quarantined_by && ['Set aside by', humanly(machine.quarantined_by)],
            machine.current_job_id && ['Rental', <a href={`/operate/rentals/${machine.current_job_id}`}>
                <Id value={machine.current_job_id} /></a>],
            ['Heard', machine.last_healthy_at ? <Ago at={machine.last_healthy_at} /> : 'never'],
            ['Enrolled', <When at={machine.enrolled_at} />],
            ['Changed', <When at={machine.changed_at} />],
            machine.retired_at && ['Retired', <When at={machine.retired_at} />],
        ].filter(Boolean) as [string, preact.ComponentChildren][]} />
        <p class="row"><a href={`/operate/rentals?machine=${machine.machine_id}`}>Its rentals</a>
            <a href={`/operate/audit?target_id=${machine.machine_id}`}>Its audit</a></p>
    </Panel>;
}

function MachineStep({ machine: shown, action, onClose }: { machine: Machine; action: Action; onClose: () => void }) {
    // As it was when the step was chosen: what changed since is refused by its version.
    const [machine] = useState(shown);
    const [isKnown, setKnown] = useState(false);
    const change = useChange('act_on_machine', { refresh: ['list_all_machines'], done: ({ consequence }) => {
        toast(consequence);
        onClose();
    } });
    const path = { id: machine.machine_id };
    return <Consequence title={words[action].title} open onClose={onClose} busy={change.busy} error={change.error}
        button={words[action].button} danger={words[action].danger ?? false} blocked={!isKnown}
        run={(reason) => void change.run({ path, body: { action, reason, expected_version: machine.version } })}>
        <ActionEffects operation="preview_machine_action" path={path} onKnown={setKnown}
            body={{ action, expected_version: machine.version }} />
    </Consequence>;
}
