// What an operator may do about an account, with what follows before it is done.
import type { Given } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange } from '../../api';
import { Field, Select, toast } from '../../kit';
import { Consequence, saidOf } from './consequence';
import { ActionEffects } from './effects';
import type { User } from './user';

type Action = Given<'act_on_user'>['body'];
type Wish = Action extends infer Each ? Each extends Action ? Omit<Each, 'reason' | 'expected_version'> : never : never;

export interface Step { title: string; button: string; danger?: boolean; wish: Wish | 'role' | 'freeze' | 'keys' | 'desk' }

export function stepsFor(user: User): Step[] {
    if (user.closed_at) return [];
    return [
        user.suspended
            ? { title: 'Let this account back', button: 'Let back', wish: { action: 'set_suspension', suspended: false } }
            : { title: 'Suspend this account', button: 'Suspend', danger: true, wish: { action: 'set_suspension', suspended: true } },
        { title: user.frozen ? 'Thaw its money' : 'Freeze its money', button: user.frozen ? 'Thaw money' : 'Freeze money', wish: 'freeze' },
        { title: 'Change its role', button: 'Role', wish: 'role' },
        { title: 'Change what it may do at the desk', button: 'Desk', wish: 'desk' },
        { title: 'Revoke all of its keys', button: 'Revoke keys', danger: true, wish: 'keys' },
        { title: 'End all of its sessions', button: 'End sessions', danger: true, wish: { action: 'revoke_sessions' } },
        { title: 'Take its authenticator off', button: 'Reset authenticator', danger: true, wish: { action: 'reset_mfa' } },
        user.host_capability
            ? { title: 'It may rent out no more', button: 'Stop hosting', danger: true, wish: { action: 'set_host_capability', enabled: false } }
            : { title: 'Let it rent out machines', button: 'Let it host', wish: { action: 'set_host_capability', enabled: true } },
    ];
}

export function UserStep({ user: shown, step, onClose }: { user: User; step: Step; onClose: () => void }) {
    // As it was when the step was chosen: what changed since is refused by its version, never turned round.
    const [user] = useState(shown);
    const [isKnown, setKnown] = useState(false);
    const after = { refresh: ['show_user' as const, 'list_users' as const], done: (answer: object) => {
        toast(saidOf(answer, (answer as { consequence?: string }).consequence ?? 'Done'));
        onClose();
    } };
    const [act, freeze, revoke, desk] = [useChange('act_on_user', after), useChange('set_freeze', after),
        useChange('revoke_keys', after), useChange('set_desk_role', after)];
    const [chosen, setChosen] = useState(step.wish === 'desk' ? user.desk_role ?? '' : user.role as string);
    const wish = step.wish === 'role' ? { action: 'set_role', role: chosen } : step.wish;
    const path = { id: user.user_id };

    function run(reason: string) {
        const body = { reason, expected_version: user.version };
        if (wish === 'freeze') return void freeze.run({ path, body: { ...body, frozen: !user.frozen } });
        if (wish === 'keys') return void revoke.run({ path, body });
        if (wish === 'desk') return void desk.run({ path, body: { ...body, desk_role: chosen || null } as never });
        return void act.run({ path, body: { ...(wish as Wish), ...body } as Action });
    }
    const busy = [act, freeze, revoke, desk].some((each) => each.busy);
    const error = [act, freeze, revoke, desk].find((each) => each.error)?.error;
    return <Consequence title={step.title} open onClose={onClose} button={step.button} danger={step.danger ?? false}
        busy={busy} error={error} run={run} blocked={typeof wish === 'object' && !isKnown}>
        {step.wish === 'role' && <Field label="Role">{(ids) => <Select {...ids} value={chosen} onChange={setChosen}
            options={[['renter', 'Renter'], ['host', 'Host'], ['admin', 'Operator']]} />}</Field>}
        {step.wish === 'desk' && <Field label="At the desk">{(ids) => <Select {...ids} value={chosen} onChange={setChosen}
            options={[['', 'Nothing'], ['support', 'Support'], ['finance', 'Finance']]} />}</Field>}
        {typeof wish === 'object'
            ? <ActionEffects operation="preview_user_action" path={path} onKnown={setKnown}
                body={{ ...wish, expected_version: user.version }} />
            : <p>{explained[wish as keyof typeof explained]}</p>}
    </Consequence>;
}

const explained = {
    freeze: 'Nothing leaves while money is frozen: no withdrawal, no payout. Rentals go on.',
    keys: 'Programs that use them are refused within a second. What they rented runs on.',
    desk: 'Support answers tickets and reads; finance moves money within the rules of four eyes.',
};
