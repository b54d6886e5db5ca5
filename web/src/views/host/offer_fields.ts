// What an offer's form holds as text, and the wish that it spells.
import { money, type Given, type Item } from 'berth-client';
import { amountOf } from './parts';

export type Version = Item<'list_offer_versions'>;
type Edit = NonNullable<Given<'edit_offer'>['body']>;

export interface Fields {
    rate: string;
    disk: string;
    egress: string;
    from: string;
    until: string;
    expires: string;
    shortest: string;
    longest: string;
    sold: 'dedicated' | 'interruptible';
    notice: string;
}

const dayMs = 86_400_000;
const hourS = 3_600;
const two = (value: number) => String(value).padStart(2, '0');

/** As an input of date and time has it, in the reader's own zone. */
export function localText(ms: number): string {
    const at = new Date(ms);
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** Whole seconds of UTC; undefined for what is no time. */
function utcText(local: string): string | undefined {
    const ms = local === '' ? Number.NaN : new Date(local).getTime();
    return Number.isNaN(ms) ? undefined : new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

export function fieldsOf(current: Version | undefined, suggested: bigint | undefined, nowMs: number): Fields {
    const rate = suggested === undefined ? '' : money.toUnits(String(suggested), 4);
    const first = { rate, disk: '100', egress: '1000' };
    const isOver = current !== undefined && Date.parse(current.available_until) <= nowMs;
    return {
        ...first,
        ...(current && {
            rate: money.toUnits(current.rate_micro_per_hour).replace(/(\.\d{4}\d*?)0+$/, '$1'),
            disk: String(current.included_disk_gib), egress: String(current.included_egress_gib),
        }),
        from: localText(current && !isOver ? Date.parse(current.available_from) : nowMs),
        until: localText(current && !isOver ? Date.parse(current.available_until) : nowMs + 30 * dayMs),
        expires: '', shortest: '', longest: '',
        sold: current?.availability_class === 'interruptible' ? 'interruptible' : 'dedicated',
        notice: String(current?.preemption_notice_s ?? 120),
    };
}

export type Faults = Partial<Record<keyof Fields, string>>;

const isWhole = (text: string) => /^\d{1,9}$/.test(text.trim());
const isHours = (text: string) => text.trim() === '' || (Number(text) > 0 && Number(text) <= 87_600);

/** What cannot be sent as it stands. */
export function faultsOf(fields: Fields): Faults {
    const faults: Faults = {};
    const rate = amountOf(fields.rate);
    if (rate === undefined || rate < 0n) faults.rate = 'Give an amount with at most six places, such as 0.45.';
    if (!isWhole(fields.disk)) faults.disk = 'Give whole GiB.';
    if (!isWhole(fields.egress)) faults.egress = 'Give whole GiB.';
    const from = utcText(fields.from);
    const until = utcText(fields.until);
    if (!from) faults.from = 'Give a date and a time.';
    if (!until) faults.until = 'Give a date and a time.';
    if (from && until && until <= from) faults.until = 'It must be later than the begin.';
    if (fields.expires !== '' && !utcText(fields.expires)) faults.expires = 'Give a date and a time, or leave it out.';
    if (!isHours(fields.shortest)) faults.shortest = 'Give hours above zero, or leave it out.';
    if (!isHours(fields.longest)) faults.longest = 'Give hours above zero, or leave it out.';
    if (fields.sold === 'interruptible' && !(isWhole(fields.notice) && Number(fields.notice) <= 3600)) {
        faults.notice = 'Give 0 to 3600 seconds.';
    }
    return faults;
}

const secondsOf = (hours: string) => hours.trim() === '' ? undefined : Math.round(Number(hours) * hourS);

/** The class is sent only where it changes: what is left out stays. A time that was not touched stays exact. */
export function editOf(fields: Fields, current: Version | undefined, expected: string): Edit {
    const same = (text: string, kept: string | undefined) =>
        kept !== undefined && localText(Date.parse(kept)) === text ? kept : utcText(text) ?? '';
    const wasSold = current?.availability_class ?? 'dedicated';
    const isOther = fields.sold !== wasSold
        || (fields.sold === 'interruptible' && Number(fields.notice) !== current?.preemption_notice_s);
    const edit: Edit = {
        expected_version: expected,
        rate_micro_per_hour: String(amountOf(fields.rate) ?? 0n),
        included_disk_gib: Number(fields.disk),
        included_egress_gib: Number(fields.egress),
        available_from: same(fields.from, current?.available_from),
        available_until: same(fields.until, current?.available_until),
    };
    if (fields.expires !== '') edit.listing_expires_at = utcText(fields.expires) ?? '';
    const shortest = secondsOf(fields.shortest);
    const longest = secondsOf(fields.longest);
    if (shortest !== undefined) edit.min_duration_s = shortest;
    if (longest !== undefined) edit.max_duration_s = longest;
    if (isOther) {
        edit.availability_class = fields.sold;
        if (fields.sold === 'interruptible') edit.preemption_notice_s = Number(fields.notice);
    }
    return edit;
}
