// Small drawings. Each says in a sentence what it shows; bars have their figures in a table as well.
import { dateText, moneyText, timeText } from '../format';

type Amount = string | bigint | number;

export interface GaugeProps {
    /** Both in micro-units, unless `text` says how they are written. */
    spent: Amount;
    total: Amount;
    tone?: 'lamp';
    label: string;
    text?: (value: number) => string;
}

const gaugeLeft = 1;
const gaugeWidth = 314;

/** A tide gauge: what is spent is under water. */
export function Gauge({ spent, total, tone, label, text }: GaugeProps) {
    const whole = Number(total);
    const part = whole > 0 ? Math.min(1, Math.max(0, Number(spent) / whole)) : 0;
    // A quarter of half a unit has three places.
    const places = [2, 3].find((each) => whole / 4 % 10 ** (6 - each) === 0) ?? 2;
    const write = text ?? ((value: number) => moneyText(BigInt(Math.round(value)), places));
    const x = (share: number) => gaugeLeft + share * gaugeWidth;
    return <svg class="gauge" data-tone={tone} viewBox="0 0 316 46" role="img" aria-label={label}>
        <rect class="bed" x={gaugeLeft} y="6" width={gaugeWidth} height="14" rx="3" />
        <rect class="water" x={gaugeLeft} y="6" width={(part * gaugeWidth).toFixed(1)} height="14" rx="3" />
        <line class="now" x1={x(part).toFixed(1)} x2={x(part).toFixed(1)} y1="1" y2="25" />
        {Array.from({ length: 21 }, (_, at) => <line key={at} class="mark" x1={x(at / 20).toFixed(1)}
            x2={x(at / 20).toFixed(1)} y1="22" y2={at % 5 ? 25.5 : 29} />)}
        {[0, 1, 2, 3, 4].map((at) => <text key={at} x={x(at / 4).toFixed(1)} y="42"
            text-anchor={at === 0 ? 'start' : at === 4 ? 'end' : 'middle'}>{write(whole * at / 4)}</text>)}
    </svg>;
}

export interface BarDay {
    /** '2026-11-18', or any other name. */
    day: string;
    value: number | string | bigint;
    /** The value in words: '9.40 USDC'. */
    label: string;
}

interface Frame {
    width: number;
    height: number;
    left: number;
    bottom: number;
    name: 'wide' | 'narrow';
}

const frames: Frame[] = [
    { width: 720, height: 190, left: 30, bottom: 160, name: 'wide' },
    { width: 326, height: 150, left: 24, bottom: 128, name: 'narrow' },
];

/** Round steps, three to five of them, up to at least the greatest. */
function stepsUpTo(greatest: number): number[] {
    if (!(greatest > 0)) return [0, 1];
    const power = 10 ** Math.floor(Math.log10(greatest / 3));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => greatest / each <= 4) ?? power * 10;
    return Array.from({ length: Math.ceil(greatest / step) + 1 }, (_, at) => Number((at * step).toPrecision(6)));
}

const dayName = (day: string) => /^\d{4}-\d\d-\d\d$/.test(day) ? dateText(`${day}T12:00:00`) : day;

/** `scale` divides values for the axis, as 1,000,000 does for micro-units. */
export function Bars({ days, label, scale = 1 }: { days: readonly BarDay[]; label: string; scale?: number }) {
    return <figure>
        {frames.map((frame) => <BarsIn key={frame.name} frame={frame} days={days} label={label} scale={scale} />)}
        <details class="figures">
            <summary>As a table</summary>
            <table class="table dense">
                <caption class="sr">{label}</caption>
                <thead><tr><th scope="col">Day</th><th scope="col" class="r">Amount</th></tr></thead>
                <tbody>{days.map((each) => <tr key={each.day}><td>{dayName(each.day)}</td>
                    <td class="r">{each.label}</td></tr>)}</tbody>
            </table>
        </details>
    </figure>;
}

interface BarsInProps {
    frame: Frame;
    days: readonly BarDay[];
    label: string;
    scale: number;
}

function BarsIn({ frame, days, label, scale }: BarsInProps) {
    const { width, height, left, bottom, name } = frame;
    const steps = stepsUpTo(Math.max(0, ...days.map(({ value }) => Number(value) / scale)));
    const top = steps.at(-1) ?? 1;
    const y = (value: number) => bottom - value / top * (bottom - 22);
    const slot = (width - left) / Math.max(1, days.length);
    const every = Math.max(1, Math.ceil(days.length / (name === 'wide' ? 6 : 4)));
    return <svg class={`chart ${name}`} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
        {steps.map((value) => <g key={value}>
            <line class={value === 0 ? 'axis' : 'grid'} x1={left} x2={width} y1={y(value)} y2={y(value)} />
            <text x={left - 7} y={y(value) + 4} text-anchor="end">{value}</text>
        </g>)}
        {days.map((each, at) => {
            const value = Number(each.value) / scale;
            const bar = value > 0 ? bottom - y(value) : 6;
            return <rect key={each.day} class={value > 0 ? 'b1' : 'none'}
                x={(left + at * slot + slot * 0.13).toFixed(1)} y={(bottom - bar).toFixed(1)}
                width={(slot * 0.74).toFixed(1)} height={bar.toFixed(1)} rx="1.5">
                <title>{`${dayName(each.day)}: ${each.label}`}</title></rect>;
        })}
        {days.map((each, at) => at % every === 0 && <text key={each.day} x={(left + (at + 0.5) * slot).toFixed(1)}
            y={bottom + 18} text-anchor="middle">{dayName(each.day)}</text>)}
    </svg>;
}

export interface LineProps {
    points: readonly (readonly [ms: number, value: number])[];
    label: string;
    unit: string;
    /** A second one, dashed. */
    second?: readonly (readonly [ms: number, value: number])[];
}

export function Line({ points, label, unit, second }: LineProps) {
    if (points.length < 2) return <p class="small muted">Too little was measured for a line.</p>;
    const all = second ? [...points, ...second] : points;
    const [from, to] = [Math.min(...all.map(([ms]) => ms)), Math.max(...all.map(([ms]) => ms))];
    const steps = stepsUpTo(Math.max(...all.map(([, value]) => value)));
    return <>{frames.map(({ width, left, name }) => {
        const bottom = 104;
        const x = (ms: number) => left + 4 + (ms - from) / Math.max(1, to - from) * (width - left - 8);
        const y = (value: number) => bottom - Math.max(0, value) / (steps.at(-1) ?? 1) * 80;
        const path = (line: LineProps['points']) => line.map(([ms, value], at) =>
            `${at ? 'L' : 'M'}${x(ms).toFixed(1)} ${y(value).toFixed(1)}`).join('');
        return <svg key={name} class={`chart ${name}`} viewBox={`0 0 ${width} 128`} role="img" aria-label={label}>
            {steps.map((value) => <g key={value}>
                <line class={value === 0 ? 'axis' : 'grid'} x1={left + 4} x2={width} y1={y(value)} y2={y(value)} />
                <text x={left - 2} y={y(value) + 4} text-anchor="end">{value}</text>
            </g>)}
            <path class="l1" d={path(points)} />
            {second && <path class="l2" d={path(second)} />}
            <text x={left + 4} y="122">{timeText(from)}</text>
            <text x={width} y="122" text-anchor="end">{timeText(to)}</text>
            <text x={left + 8} y="14">{unit}</text>
        </svg>;
    })}</>;
}
