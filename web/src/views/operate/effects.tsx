// What a step would do, asked of the server, which looks by the rules of the step itself.
import { useQuery } from '@tanstack/preact-query';
import type { BerthError } from 'berth-client';
import { useEffect } from 'preact/hooks';
import { client } from '../../api';
import { Money } from '../../format';
import { Failure, Loading, Notice } from '../../kit';

/** In words, for one and for several. */
const words: Record<string, readonly [one: string, several: string]> = {
    sessions_ended: ['session ends', 'sessions end'],
    keys_refused: ['key is refused', 'keys are refused'],
    keys_working: ['key works again', 'keys work again'],
    authenticator_removed: ['authenticator is taken off', 'authenticators are taken off'],
    rentals_going_on: ['rental goes on to its end', 'rentals go on to their end'],
    rentals_stopped: ['rental is stopped', 'rentals are stopped'],
    transfers_waiting: ['transfer waits', 'transfers wait'],
    machines_hidden: ['machine leaves the market', 'machines leave the market'],
    machines_shown: ['machine is back on the market', 'machines are back on the market'],
    commands_taken_back: ['command is taken back', 'commands are taken back'],
};

function worded({ what, count }: Effect): string {
    return words[what]?.[Number(count) === 1 ? 0 : 1] ?? what.replaceAll('_', ' ');
}

interface Effect { what: string; count?: number | string | null; amount_micro?: string | null; ids?: string[] }
interface Effects {
    effects: Effect[]; allowed: boolean; refusal?: { code: string; message: string } | null;
    needs_second_admin?: boolean;
}

/** `onKnown` is told whether they are shown: nothing is pressed before. */
export function ActionEffects({ operation, path, body, onKnown }: {
    operation: 'preview_user_action' | 'preview_machine_action'; path: { id: string }; body: object;
    onKnown: (isKnown: boolean) => void;
}) {
    const { data, error } = useQuery({
        queryKey: [operation, path, body],
        queryFn: () => client.call(operation, { path, body: { ...body, reason: 'preview' } } as never) as Promise<unknown>,
        gcTime: 0,
    });
    const isKnown = data !== undefined && !error;
    useEffect(() => onKnown(isKnown), [isKnown]);
    if (error) return <Failure error={error as unknown as BerthError} />;
    if (!data) return <Loading rows={2} />;
    const { effects, allowed, refusal, needs_second_admin: isShared } = data as Effects;
    return <>
        {!allowed && <Notice tone="lamp" title="It would be refused">{refusal?.message ?? ''}</Notice>}
        {isShared && <Notice title="A second operator has to confirm it" />}
        {effects.length === 0 ? <p>It changes nothing else.</p> : <ul class="effects">
            {effects.map((effect) => <li key={effect.what}>
                {effect.count !== null && effect.count !== undefined && <strong>{effect.count} </strong>}{worded(effect)}
                {effect.amount_micro && <>: <Money micro={effect.amount_micro} places={6} /></>}
            </li>)}
        </ul>}
    </>;
}
