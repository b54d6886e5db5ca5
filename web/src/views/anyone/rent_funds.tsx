// Too little money: how much is missing, and the ways to it.
import { money } from 'berth-client';
import { useEffect, useState } from 'preact/hooks';
import { useChange, useRead } from '../../api';
import { moneyText } from '../../format';
import { Button, Failure, Notice } from '../../kit';
import { useSession } from '../../session';
import { useIsBox } from './soon';

const playMicro = '100000000';

/** What is missing for a budget; undefined while it is not known, '0' when it is there. */
export function useMissing(budget: string | undefined, asset: string): string | undefined {
    const session = useSession();
    const { data } = useRead('show_balances', { query: { asset: asset as 'USDC' } }, { every: 5, enabled: !!session });
    if (!data || budget === undefined) return undefined;
    const lacking = money.micro(budget) - money.micro(data.spendable_micro) - money.micro(data.credit_micro);
    return String(lacking > 0n ? lacking : 0n);
}

/** Never rounded below what is missing. */
function needed(missing: string): string {
    return moneyText(String((BigInt(missing) + 9_999n) / 10_000n * 10_000n), 2);
}

/** `back`: where one goes on once the money is there. */
export function Funds({ missing, asset, back }: { missing: string; asset: string; back: string }) {
    const isBox = useIsBox();
    const amount = needed(missing).replaceAll(',', '');
    return <Notice tone="lamp" role="status" title={`You need ${needed(missing)} ${asset} more.`}>
        <div class="tight">
            <p>{isBox ? 'The money of this box is play money.' : 'This offer is not held for you meanwhile.'}</p>
            <div class="row">
                {isBox && <PlayMoney asset={asset} />}
                <Button small href={`/money/add?${new URLSearchParams({ amount, asset, back })}`}>Add money</Button>
            </div>
        </div>
    </Notice>;
}

function PlayMoney({ asset }: { asset: string }) {
    const faucet = useChange('ask_faucet' as never, { refresh: ['show_balances'] });
    const [isOnItsWay, setOnItsWay] = useState(false);
    useEffect(() => {
        if (!isOnItsWay) return;
        const timer = setTimeout(() => setOnItsWay(false), 60_000);
        return () => clearTimeout(timer);
    }, [isOnItsWay]);
    const ask = async () => {
        const answer = await faucet.run({ body: { asset, amount_micro: playMicro } } as never);
        if (answer !== undefined) setOnItsWay(true);
    };
    if (isOnItsWay) return <span class="small soft" role="status">100 play {asset} are on their way…</span>;
    return <>
        <Button small kind="primary" busy={faucet.busy} onClick={() => void ask()}>Get 100 play {asset}</Button>
        {faucet.error && <Failure error={faucet.error} />}
    </>;
}
