// Steps that take two operators: asked by one, done by another.
import type { Item } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange } from '../../api';
import { Ago, Countdown, Id, Money, When, visible } from '../../format';
import { Badge, Button, Facts, Page, toast } from '../../kit';
import { pendingState } from '../../words';
import { Consequence } from './consequence';
import { choices, DeskList } from './desk_list';

type Pending = Item<'list_pending_actions'>;
type Step = 'confirm_pending_action' | 'refuse_pending_action';

export default function PendingActions() {
    const [asked, setAsked] = useState<{ step: Step; action: Pending }>();
    return <Page title="Pending" facts="Nobody does these alone: who asked cannot confirm.">
        <DeskList operation="list_pending_actions" caption="Pending actions" every={15}
            keyOf={({ pending_action_id }) => pending_action_id}
            filters={[{ name: 'state', label: 'State', options: choices(['waiting', 'confirmed', 'refused', 'expired'],
                (state) => pendingState(state).word) }]}
            empty="Nothing waits for a second operator." columns={[
                { head: 'What', cell: ({ consequence, action, pending_action_id }) => <><span class="strong wraps">{visible(consequence)}</span>
                    <small>{action} <Id value={pending_action_id} /></small></> },
                { head: 'Amount', right: true, cell: ({ amount_micro }) => amount_micro && <Money micro={amount_micro} asset={null} /> },
                { head: 'Why', cell: ({ reason }) => <span class="wraps">{visible(reason)}</span>, narrow: 'hide' },
                { head: 'Asked', cell: ({ asked_by, asked_at }) => <><Id value={asked_by} /><small><Ago at={asked_at} /></small></> },
                { head: 'State', cell: (action) => <State action={action} /> },
                { head: <span class="sr">Actions</span>, right: true, cell: (action) => action.state === 'waiting' && <span class="actions end">
                    {action.confirmable && <Button small kind="primary" onClick={() => setAsked({ step: 'confirm_pending_action', action })}>Confirm</Button>}
                    <Button small onClick={() => setAsked({ step: 'refuse_pending_action', action })}>Refuse</Button>
                </span> },
            ]} />
        {asked && <Decide key={asked.step + asked.action.pending_action_id} {...asked} onClose={() => setAsked(undefined)} />}
    </Page>;
}

function State({ action: { state, expires_at, decided_by, decided_at } }: { action: Pending }) {
    const { word, tone } = pendingState(state);
    return <><Badge tone={tone}>{word}</Badge>
        <small>{state === 'waiting' ? <>ends in <Countdown until={expires_at} /></>
            : decided_at && <><When at={decided_at} /> {decided_by && <Id value={decided_by} />}</>}</small></>;
}

function Decide({ step, action, onClose }: { step: Step; action: Pending; onClose: () => void }) {
    const confirms = step === 'confirm_pending_action';
    const change = useChange(step, { refresh: ['list_pending_actions'], done: () => {
        toast(confirms ? 'Done' : 'Refused; nothing was done');
        onClose();
    } });
    return <Consequence title={confirms ? 'Do it together' : 'Refuse it'} open onClose={onClose} danger={!confirms}
        button={confirms ? 'Confirm' : 'Refuse'} busy={change.busy} error={change.error}
        run={(reason) => void change.run({ path: { id: action.pending_action_id }, body: { reason } })}>
        <p class="strong">{visible(action.consequence)}</p>
        <Facts items={[['Asked for', action.request], ['With', <span class="mono wraps">{visible(action.body)}</span>],
            ['Because', visible(action.reason)], ['By', <Id value={action.asked_by} />]]} />
    </Consequence>;
}
