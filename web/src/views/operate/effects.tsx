// What a step would do, asked of the server, which looks by the rules of the step itself.
import { useQuery } from '@tanstack/preact-query';
import type { BerthError } from 'berth-client';
import { client } from '../../api';
import { Money } from '../../format';
import { Failure, Loading, Notice } from '../../kit';

interface Effect { what: string; count?: number | string | null; amount_micro?: string | null; ids?: string[] }
interface Effects { effects: Effect[]; allowed: boolean; refusal?: { code: string; message: string } | null }

export function ActionEffects({ operation, path, body }: {
    operation: 'preview_user_action' | 'preview_machine_action'; path: { id: string }; body: object;
}) {
    const { data, error } = useQuery({
        queryKey: [operation, path, body],
        queryFn: () => client.call(operation, { path, body: { ...body, reason: 'preview' } } as never) as Promise<unknown>,
    });
    if (error) return <Failure error={error as unknown as BerthError} />;
    if (!data) return <Loading rows={2} />;
    const { effects, allowed, refusal } = data as Effects;
    return <>
        {!allowed && <Notice tone="lamp" title="It would be refused">{refusal?.message ?? ''}</Notice>}
        {effects.length === 0 ? <p>It changes nothing else.</p> : <ul class="effects">
            {effects.map((effect) => <li key={effect.what}>
                {effect.count !== null && effect.count !== undefined && <strong>{effect.count} </strong>}{effect.what}
                {effect.amount_micro && <>: <Money micro={effect.amount_micro} places={6} /></>}
            </li>)}
        </ul>}
    </>;
}
