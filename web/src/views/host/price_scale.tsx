// One price between the lowest and the highest of like machines.
import { money } from 'berth-client';
import { moneyText, plural } from '../../format';
import type { Market } from './market';

const left = 45;
const right = 271;

const text = (micro: bigint, places = 4) => money.toUnits(String(micro), places);

export function PriceScale({ mine, market }: { mine: bigint | undefined; market: Market }) {
    const known = [market.median, market.lowest, market.highest, mine].filter((each) => each !== undefined);
    let low = known.reduce((a, b) => a < b ? a : b);
    let high = known.reduce((a, b) => a > b ? a : b);
    if (low === high) {
        low -= low / 5n;
        high += high / 5n + 1n;
    }
    const x = (micro: bigint) => left + Number(micro - low) / Number(high - low) * (right - left);
    const you = mine === undefined ? undefined : x(mine);
    const middle = x(market.median);
    const near = (at: number) => Math.abs(middle - at) < 62;
    return <svg class="scale" viewBox="0 0 316 62" role="img" aria-label={sentenceOf(mine, market)}>
        <line class="track" x1={left} x2={right} y1="31" y2="31" />
        <line class="mid" x1={middle} x2={middle} y1="22" y2="40" />
        {you !== undefined && mine !== undefined && <>
            <path class="you" d={`M${you.toFixed(1)} 25l-6-8h12z`} />
            <text x={you} y="12" text-anchor="middle">you {text(mine)}</text>
        </>}
        <text x={middle} y="56" text-anchor="middle">median {text(market.median)}</text>
        {!near(left) && <text x={left} y="56" text-anchor="middle">{text(low, 2)}</text>}
        {!near(right) && <text x={right} y="56" text-anchor="middle">{text(high, 2)}</text>}
    </svg>;
}

function sentenceOf(mine: bigint | undefined, { median, lowest, highest }: Market): string {
    const own = mine === undefined ? '' : `Your price ${text(mine)}, `;
    const range = lowest === undefined || highest === undefined ? ''
        : `, offers from ${text(lowest)} to ${text(highest)}`;
    return `${own}${own ? 'm' : 'M'}arket median ${text(median)}${range} per GPU-hour`;
}

/** "7 % over the median of 9 offers of this model." */
export function compared(mine: bigint | undefined, market: Market): string {
    const of = market.basis === 'reference' ? 'public list prices of this model'
        : market.basis === 'throughput' ? 'public list prices by memory bandwidth'
        : market.offers > 0 ? `${plural(market.offers, 'offer')} of this model` : 'offers of this model';
    if (mine === undefined) return `The median of ${of} is ${moneyText(market.median, 4)}.`;
    if (market.median === 0n || mine === market.median) return `The median of ${of}.`;
    const difference = Number((mine - market.median) * 1000n / market.median) / 10;
    const size = Math.abs(difference);
    const shown = size < 1 ? 'Less than 1' : Math.round(size).toLocaleString('en');
    return `${shown} % ${difference >= 0 ? 'over' : 'below'} the median of ${of}.`;
}
