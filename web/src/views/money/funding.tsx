// Payments that were announced: those that are open, and the last that came.
import type { Item } from 'berth-client';
import { useRead } from '../../api';
import { moneyText, When } from '../../format';
import { Async, Badge, Panel } from '../../kit';
import { intentState } from '../../words';

export type Intent = Item<'list_funding_intents'>;

export function assetOf(intent: { instructions: string }): 'USDC' | 'USDT' {
    return /\bUSDT\b/.test(intent.instructions) ? 'USDT' : 'USDC';
}

export function Funding({ title = 'Payments in', except }: { title?: string; except?: string }) {
    const list = useRead('list_funding_intents', { query: { limit: 6 } }, { every: 15 });
    return <Panel title={title} footer={<>Every balance is in the hourly <a href="/proof">proof of liabilities</a>.</>}>
        <Async read={list} rows={2}>{({ items }) => {
            const shown = items.filter(({ intent_id }) => intent_id !== except).slice(0, 5);
            if (shown.length === 0) return <p class="soft">None yet.</p>;
            return <ul class="stack">{shown.map((intent) => <Line key={intent.intent_id} intent={intent} />)}</ul>;
        }}</Async>
    </Panel>;
}

function Line({ intent }: { intent: Intent }) {
    const { word, tone } = intentState(intent.state);
    return <li class="row spread">
        <a href={`/money/add/${intent.intent_id}`}>{moneyText(intent.amount_micro, 2, assetOf(intent))}</a>
        <span class="row"><span class="small muted"><When at={intent.created_at} /></span>
            <Badge tone={tone}>{word}</Badge></span>
    </li>;
}
