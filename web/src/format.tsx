// How amounts, times and names are shown. What is exact stands in the title.
import { money } from 'berth-client';
import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { now } from './clock';
import { Copy } from './kit/copy';

export type Micro = string | bigint | null | undefined;
/** ISO text, milliseconds, or milliseconds in a text. */
export type Moment = string | number | Date | null | undefined;

/** True inside a link, where a second thing to press has no place. */
export const InLink = createContext(false);

export { now };

interface Ticker { tick: () => void; timer: ReturnType<typeof setInterval>; heard: Set<(time: number) => void> }
const tickers = new Map<number, Ticker>();

function startTicker(everyMs: number): Ticker {
    const heard: Ticker['heard'] = new Set();
    const tick = () => { if (!document.hidden) for (const hear of heard) hear(now()); };
    const ticker = { tick, timer: setInterval(tick, everyMs), heard };
    document.addEventListener('visibilitychange', tick);
    tickers.set(everyMs, ticker);
    return ticker;
}

/** The corrected time, again every so many milliseconds while the page is seen. All that tick alike do so at once: a
 * table of ages is drawn once a second, not once for each row. */
export function useNow(everyMs = 1000): number {
    const [time, setTime] = useState(now);
    useEffect(() => {
        const ticker = tickers.get(everyMs) ?? startTicker(everyMs);
        ticker.heard.add(setTime);
        return () => {
            ticker.heard.delete(setTime);
            if (ticker.heard.size > 0) return;
            clearInterval(ticker.timer);
            document.removeEventListener('visibilitychange', ticker.tick);
            tickers.delete(everyMs);
        };
    }, [everyMs]);
    return time;
}

export function milliseconds(at: Moment): number | undefined {
    if (at === null || at === undefined || at === '') return undefined;
    const ms = typeof at === 'string' && !/^\d+$/.test(at) ? Date.parse(at) : Number(at);
    return Number.isFinite(ms) ? ms : undefined;
}

/** 12406 is '12,406'. */
export function count(value: number | string | bigint): string {
    return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** Rounded down, with a comma at the thousands and a true minus. */
export function moneyText(micro: Micro, places = 2, asset?: string | null): string {
    if (micro === null || micro === undefined) return 'not measured';
    const [whole = '', part] = money.toUnits(String(micro), places).split('.');
    const amount = count(whole.replace('-', '\u2212')) + (part === undefined ? '' : `.${part}`);
    return asset ? `${amount} ${asset}` : amount;
}

export interface MoneyProps {
    micro: Micro;
    /** Null leaves the unit out. */
    asset?: string | null;
    places?: number;
    /** A plus in front of what is above zero. */
    sign?: boolean;
}

export function Money({ micro, asset = 'USDC', places = 2, sign }: MoneyProps) {
    if (micro === null || micro === undefined) return <Unknown />;
    const plus = sign && BigInt(micro) > 0n ? '+' : '';
    return <span class="num nowrap" title={moneyText(micro, 6, asset)}>
        {plus}{moneyText(micro, places, asset)}
    </span>;
}

export function Rate({ microPerHour, asset = null }: { microPerHour: Micro; asset?: string | null }) {
    return <Money micro={microPerHour} places={4} asset={asset} />;
}

const two = (value: number) => String(value).padStart(2, '0');

/** Two units; seconds only below ten minutes. */
export function duration(ms: number | string | bigint): string {
    const seconds = Math.max(0, Math.floor(Number(ms) / 1000));
    const minutes = Math.floor(seconds / 60);
    const hours = Math.floor(minutes / 60);
    const days = Math.floor(hours / 24);
    if (seconds < 60) return `${seconds} s`;
    if (minutes < 10) return `${minutes} min ${two(seconds % 60)} s`;
    if (hours < 1) return `${minutes} min`;
    if (days < 2) return `${hours} h ${two(minutes % 60)} min`;
    return `${days} d ${hours % 24} h`;
}

export function Duration({ ms }: { ms: number | string | bigint | null | undefined }) {
    if (ms === null || ms === undefined) return <Unknown />;
    return <span class="num nowrap" title={`${(Number(ms) / 1000).toFixed(3)} s`}>{duration(ms)}</span>;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const clockExact = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const dayOfYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const dayOfPast = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

/** '14:01', with seconds '14:01:22'. */
export function timeText(at: Moment, seconds = false): string {
    const ms = milliseconds(at);
    return ms === undefined ? 'unknown' : (seconds ? clockExact : clock).format(ms);
}

/** '9 Nov', with the year when it is another one. */
export function dateText(at: Moment): string {
    const ms = milliseconds(at);
    if (ms === undefined) return 'unknown';
    const isThisYear = new Date(ms).getFullYear() === new Date(now()).getFullYear();
    return (isThisYear ? dayOfYear : dayOfPast).format(ms);
}

/** The time of today, the date and time of another day. */
export function whenText(at: Moment): string {
    const ms = milliseconds(at);
    if (ms === undefined) return 'unknown';
    const isToday = new Date(ms).toDateString() === new Date(now()).toDateString();
    return isToday ? timeText(ms) : `${dateText(ms)} ${timeText(ms)}`;
}

function Stamp({ at, text }: { at: number; text: string }) {
    const exact = new Date(at).toISOString();
    const title = `${exact.replace('T', ' ').replace('Z', '')} UTC`;
    return <time class="num nowrap" dateTime={exact} title={title}>{text}</time>;
}

/** Local time; UTC in the title. */
export function When({ at }: { at: Moment }) {
    const ms = milliseconds(at);
    return ms === undefined ? <span class="muted">never</span> : <Stamp at={ms} text={whenText(ms)} />;
}

export function agoText(at: Moment, time = now()): string {
    const ms = milliseconds(at);
    if (ms === undefined) return 'never';
    const age = Math.max(0, time - ms);
    if (age >= 86_400_000) return whenText(ms);
    if (age < 60_000) return `${Math.floor(age / 1000)} s ago`;
    if (age < 3_600_000) return `${Math.floor(age / 60_000)} min ago`;
    return `${duration(age)} ago`;
}

/** Ticks; a date from a day on. */
export function Ago({ at }: { at: Moment }) {
    const ms = milliseconds(at);
    const time = useNow(ms !== undefined && now() - ms > 120_000 ? 15_000 : 1000);
    return ms === undefined ? <span class="muted">never</span> : <Stamp at={ms} text={agoText(ms, time)} />;
}

/** '1:54', above ten minutes in words. */
export function countdownText(ms: number): string {
    const seconds = Math.max(0, Math.ceil(ms / 1000));
    return seconds < 600 ? `${Math.floor(seconds / 60)}:${two(seconds % 60)}` : duration(ms);
}

export function Countdown({ until }: { until: Moment }) {
    const ms = milliseconds(until);
    const time = useNow();
    return ms === undefined ? <Unknown /> : <Stamp at={ms} text={countdownText(ms - time)} />;
}

/** '01a1e41e…a445'; what is short stays whole. */
export function shortId(value: string): string {
    const head = value.startsWith('0x') ? 6 : 8;
    return value.length > head + 8 ? `${value.slice(0, head)}\u2026${value.slice(-4)}` : value;
}

/** `what` names it for those who hear the button: 'rental id'. */
export function Id({ value, what = 'id' }: { value: string | null | undefined; what?: string }) {
    const inLink = useContext(InLink);
    if (!value) return <span class="muted">none</span>;
    if (inLink) return <span class="mono" title={value}>{shortId(value)}</span>;
    return <span class="plate" title={value}>
        {shortId(value)}<Copy text={value} label={`Copy ${what} ${value}`} isId />
    </span>;
}

/** '24 GiB'; one place where it is not whole. */
export function gib(value: number | string | null | undefined): string {
    if (value === null || value === undefined) return 'not measured';
    const amount = Number(value);
    const [whole = '', part] = amount.toFixed(amount >= 100 || Number.isInteger(amount) ? 0 : 1).split('.');
    return `${count(whole)}${part && part !== '0' ? `.${part}` : ''} GiB`;
}

/** Of bytes. */
export function bytes(value: number | string | bigint | null | undefined): string {
    return value === null || value === undefined ? 'not measured' : gib(Number(value) / 2 ** 30);
}

export function Unknown() {
    return <span class="muted">not measured</span>;
}

/** A part of one: 0.63 is '63 %'. */
export function percent(part: number | null | undefined): string {
    if (part === null || part === undefined || !Number.isFinite(part)) return 'not measured';
    const value = part * 100;
    return `${value > 0 && value < 10 && !Number.isInteger(value) ? value.toFixed(1) : Math.floor(value + 1e-9)} %`;
}

/** '1 machine', '2 machines'; `many` where an s is not enough. */
export function plural(amount: number | string | bigint, one: string, many = `${one}s`): string {
    return `${count(amount)} ${String(amount) === '1' ? one : many}`;
}

// What strangers' programs write is shown as text: nothing in it may move a cursor, hide or turn words.
const escapes = /\x1b\[[0-?]*[ -/]*[@-~]/g;
const unseen = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u2069\ufeff]/g;

function shown(character: string): string {
    return `<U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}>`;
}

/** Line ends and tabs stay, every other control character is named. */
export function visible(text: string): string {
    return text.replace(/\r\n/g, '\n').replace(unseen, shown);
}

/** For logs, which are full of colours: those go, the rest becomes visible. */
export function visibleLog(text: string): string {
    return visible(text.replace(escapes, '').replace(/[^\n]*\r(?!\n)/g, ''));
}
