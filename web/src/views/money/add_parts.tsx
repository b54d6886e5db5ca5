// What stands beside a payment: the balance before and after, and what goes wrong most.
import { money } from 'berth-client';
import { useRead } from '../../api';
import { duration, Money, moneyText } from '../../format';
import { Async, Notice, Panel } from '../../kit';
import { gpuName } from '../anyone/market';
import { pays } from './amount';

/** What an amount rents, by the cheapest machine of the moment. */
export function RunsFor({ micro }: { micro: string }) {
    const { data } = useRead('list_offers', { query: { limit: 1, sort: 'price_asc' } }, { every: 60 });
    const offer = data?.items[0];
    if (!offer?.model) return <>{moneyText(micro, 6)}</>;
    const ms = pays(micro, offer.total_rate_micro_per_hour);
    return <>Runs an {gpuName(offer.model)} at {money.toUnits(offer.total_rate_micro_per_hour, 4)} for about {duration(ms)}.</>;
}

export function BalanceAside({ asset, adding }: { asset: 'USDC' | 'USDT'; adding: string }) {
    const balances = useRead('show_balances', { query: { asset } }, { every: 15 });
    return <Panel title="Balance" aside={<span class="live">now</span>}>
        <Async read={balances} rows={4}>{(data) => <>
            <div class="figure" title={moneyText(data.spendable_micro, 6, asset)}>
                {moneyText(data.spendable_micro, 2)} <small>{asset}</small>
            </div>
            <dl class="kv">
                <dt>Held for rentals</dt><dd><Money micro={data.held_micro} asset={null} /></dd>
                <dt>Spent in 30 days</dt><dd><Money micro={data.spent_30d_micro} asset={null} /></dd>
                {adding !== '0' && <>
                    <dt>This transfer</dt><dd><Money micro={adding} asset={null} sign /></dd>
                    <dt class="sum">After this</dt>
                    <dd class="sum"><Money micro={BigInt(data.spendable_micro) + BigInt(adding)} asset={asset} /></dd>
                </>}
            </dl>
        </>}</Async>
    </Panel>;
}

export function OnlyThisToken({ asset }: { asset: string }) {
    return <Notice tone="lamp" title={`Send ${asset} on Base, nothing else`}>
        Another token, chain or wallet is not credited by itself. If it happened, write to us and name the transaction.
    </Notice>;
}
