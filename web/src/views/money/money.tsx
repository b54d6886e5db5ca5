// What have I? Balances, what moved them, credits, statements.
import type { Answer } from 'berth-client';
import { useRead } from '../../api';
import { Money, moneyText } from '../../format';
import { Async, Button, Facts, Page, Panel, Segmented } from '../../kit';
import { useQuery } from '../../router';
import { PlayMoney } from './box';
import { Credits } from './credits';
import { Entries } from './entries';
import { Funding } from './funding';
import { Statement } from './statement';

export type Asset = 'USDC' | 'USDT';

export function useAsset(): [Asset, (asset: string) => void] {
    const [query, setQuery] = useQuery();
    const asset: Asset = query['asset'] === 'USDT' ? 'USDT' : 'USDC';
    return [asset, (next) => setQuery({ asset: next === 'USDC' ? undefined : next }, { replace: true })];
}

export default function MoneyPage() {
    const [asset, setAsset] = useAsset();
    const balances = useRead('show_balances', { query: { asset } }, { every: 15 });
    const suffix = asset === 'USDC' ? '' : `?asset=${asset}`;
    return <Page title="Money"
        facts={<Segmented label="Which token" value={asset} onChange={setAsset}
            options={[['USDC', 'USDC'], ['USDT', 'USDT']]} />}
        actions={<>
            <Button href={`/money/withdraw${suffix}`}>Withdraw</Button>
            <Button kind="primary" href={`/money/add${suffix}`}>Add money</Button>
        </>}>
        <div class="cols">
            <div class="stack">
                <Panel title="Balance" aside={<span class="small muted">of this moment, by the books</span>}>
                    <Async read={balances} rows={3}>{(data) => <Balance data={data} />}</Async>
                </Panel>
                <Entries />
            </div>
            <aside class="stack">
                <PlayMoney asset={asset} />
                <Funding />
                <Credits />
                <Statement asset={asset} />
            </aside>
        </div>
    </Page>;
}

function Balance({ data }: { data: Answer<'show_balances'> }) {
    const { asset } = data;
    const shown = (micro: string) => <Money micro={micro} asset={asset} />;
    const facts: [string, preact.ComponentChild][] = [
        ['Held for rentals', shown(data.held_micro)],
        ['On its way out', shown(data.pending_micro)],
        ['In dispute', shown(data.disputed_micro)],
        ['Can be withdrawn now', shown(data.withdrawable_micro)],
        ['Spent in 30 days', shown(data.spent_30d_micro)],
    ];
    if (data.credit_micro !== '0') facts.unshift(['Credits, used first', shown(data.credit_micro)]);
    return <div class="stack">
        <div>
            <p class="small muted">Spendable</p>
            <p class="figure" title={moneyText(data.spendable_micro, 6, asset)}>
                {moneyText(data.spendable_micro, 2)} <small>{asset}</small>
            </p>
        </div>
        <Facts items={facts} />
    </div>;
}
