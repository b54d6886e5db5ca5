// Where to, when? A form with its code inline, and what became of earlier ones.
import { useRead } from '../../api';
import { Money, moneyText } from '../../format';
import { Async, Facts, Notice, Page, Panel, Segmented } from '../../kit';
import { useAsset } from './money';
import { WithdrawForm } from './withdraw_form';
import { Withdrawals } from './withdrawals';

export default function Withdraw() {
    const [asset, setAsset] = useAsset();
    const balances = useRead('show_balances', { query: { asset } }, { every: 10 });
    return <Page title="Withdraw" crumbs={[['Money', '/money']]}
        facts={<Segmented label="Which token" value={asset} onChange={setAsset}
            options={[['USDC', 'USDC'], ['USDT', 'USDT']]} />}>
        <div class="cols">
            <div class="stack">
                <Panel title="Send money out">
                    <WithdrawForm key={asset} asset={asset} most={balances.data?.withdrawable_micro} />
                </Panel>
                <Withdrawals />
            </div>
            <aside class="stack">
                <Panel title="Can be withdrawn" aside={<span class="live">now</span>}>
                    <Async read={balances} rows={3}>{(data) => <>
                        <div class="figure" title={moneyText(data.withdrawable_micro, 6, asset)}>
                            {moneyText(data.withdrawable_micro, 2)} <small>{asset}</small>
                        </div>
                        <Facts items={[
                            ['Spendable', <Money micro={data.spendable_micro} asset={null} />],
                            ['Held for rentals', <Money micro={data.held_micro} asset={null} />],
                            ['On its way out', <Money micro={data.pending_micro} asset={null} />],
                        ]} />
                    </>}</Async>
                </Panel>
                <Notice tone="lamp" title={`${asset} on Base only`}>
                    <p>A payment on the chain cannot be called back. An address at an exchange must take {asset} on
                        Base.</p>
                </Notice>
                <Panel title="Saved addresses">
                    <p class="soft">A new address is confirmed by a mailed link, once. <a href="/account/addresses">See
                        them all</a></p>
                </Panel>
            </aside>
        </div>
    </Page>;
}
