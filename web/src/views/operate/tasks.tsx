// Background work: what waits, what died and why.
import type { Item } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange } from '../../api';
import { Ago, Id, When } from '../../format';
import { Badge, Button, Page, toast } from '../../kit';
import { Consequence } from './consequence';
import { choices, DeskList } from './desk_list';

type Task = Item<'list_tasks'>;
type Step = 'retry_task' | 'drop_task';

export default function Tasks() {
    const [asked, setAsked] = useState<{ step: Step; task: Task }>();
    return <Page title="Tasks" facts="Mail, settlement, commands to hosts: what a request left to be done.">
        <DeskList operation="list_tasks" caption="Tasks" keyOf={({ task_id }) => task_id}
            filters={[{ name: 'state', label: 'State', options: choices(['dead', 'waiting']) }]}
            empty="Nothing waits and nothing died." columns={[
                { head: 'Task', cell: ({ kind, task_id }) => <><span class="strong">{kind}</span><small><Id value={task_id} /></small></> },
                { head: 'State', cell: ({ state }) => <Badge tone={state === 'dead' ? 'stop' : 'way'}>{state === 'dead' ? 'Dead' : 'Waiting'}</Badge> },
                { head: 'Why', cell: ({ last_error }) => <span class="wraps">{last_error ?? 'no fault'}</span> },
                { head: 'Tries', cell: ({ attempts }) => attempts, right: true },
                { head: 'Next', cell: ({ state, run_at }) => state === 'dead' ? 'never' : <When at={run_at} />, narrow: 'hide' },
                { head: 'Since', cell: ({ created_at }) => <Ago at={created_at} />, narrow: 'hide' },
                { head: <span class="sr">Actions</span>, right: true, cell: (task) => task.state === 'dead' && <span class="actions end">
                    <Button small onClick={() => setAsked({ step: 'retry_task', task })}>Try again</Button>
                    <Button small kind="danger" onClick={() => setAsked({ step: 'drop_task', task })}>Drop</Button>
                </span> },
            ]} />
        {asked && <TaskStep key={asked.step + asked.task.task_id} {...asked} onClose={() => setAsked(undefined)} />}
    </Page>;
}

function TaskStep({ step, task, onClose }: { step: Step; task: Task; onClose: () => void }) {
    const isDrop = step === 'drop_task';
    const change = useChange(step, { refresh: ['list_tasks'], done: () => {
        toast(isDrop ? 'Dropped' : 'It is tried again');
        onClose();
    } });
    return <Consequence title={isDrop ? `Drop ${task.kind}` : `Try ${task.kind} again`} open onClose={onClose}
        button={isDrop ? 'Drop it' : 'Try again'} danger={isDrop} busy={change.busy} error={change.error}
        run={(reason) => void change.run({ path: { id: task.task_id }, body: { reason } })}>
        <p>{isDrop ? 'What it was to do is never done. Nothing that was done is undone.'
            : 'It is carried out once more from its beginning, by the same rules.'}</p>
    </Consequence>;
}
