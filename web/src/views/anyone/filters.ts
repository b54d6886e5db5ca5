// The filters of the catalog: in the address, in the API and in words.
import { money } from 'berth-client';
import { continents, runtimeName } from './market';
import type { Wish } from './soon';

export type Query = Record<string, string>;
export type Patch = Record<string, string | undefined>;

export const orders: [string, string][] = [['price_asc', 'Cheapest first'], ['price_desc', 'Dearest first'],
    ['vram_desc', 'Most memory'], ['ai_speed', 'Fastest answers'], ['tflops_desc', 'Most computing'],
    ['net_desc', 'Fastest line'], ['reliability_desc', 'Best record'], ['uptime_desc', 'Best uptime'],
    ['newest', 'Newest'], ['verification', 'Best checked']];
export const trusts: [string, string][] = [['', 'Tested machines'], ['manually_verified', 'Checked by people'],
    ['all', 'Untested as well']];
export const classes: [string, string][] = [['', 'Either'], ['dedicated', 'Dedicated'],
    ['interruptible', 'Interruptible']];
export const backends: [string, string][] = [['', 'Any'],
    ...['cuda', 'rocm', 'sycl', 'vulkan', 'metal'].map((key): [string, string] => [key, runtimeName(key)])];
export const tiers: [string, string][] = [['', 'Either'], ['container', 'Containers'], ['inference', 'Models only']];
export const places: [string, string][] = [['', 'Anywhere'], ...continents];

/** Only what the list has: an address can be typed by hand. */
function among(list: [string, string][], value: string | undefined): string | undefined {
    return value && list.some(([key]) => key === value) ? value : undefined;
}

function whole(value: string | undefined): string | undefined {
    return value && /^[1-9]\d{0,6}$/.test(value) ? value : undefined;
}

/** An amount as people type it, in micro-units; undefined when it is none. */
export function microOf(text: string | undefined): string | undefined {
    const plain = (text ?? '').trim().replace(',', '.').replace(/^\./, '0.');
    return /^\d{1,9}(\.\d{1,6})?$/.test(plain) ? money.fromUnits(plain) : undefined;
}

/** What the API is asked, out of the address. */
export function wishOf(query: Query, templateId: string | undefined): Wish {
    const trust = among(trusts, query['trust']);
    return {
        template_id: templateId,
        fits_only: templateId && query['fits'] === '1' ? 'true' : undefined,
        model: query['gpu']?.trim().slice(0, 200) || undefined,
        max_rate_micro_per_hour: microOf(query['max']),
        continent: among(places, query['where']),
        verification_level: trust === 'manually_verified' ? trust : undefined,
        include_unverified: trust === 'all' ? 'true' : undefined,
        class: among(classes, query['class']),
        gpu_count: whole(query['gpus']),
        min_vram_gib: whole(query['vram']),
        min_bandwidth_mbps: whole(query['down']),
        backend: among(backends, query['backend']),
        tier: among(tiers, query['tier']),
        sort: among(orders, query['sort']),
    };
}

export interface Filter {
    /** As the API calls it. */
    name: string;
    words: string;
    /** What takes it out of the address. */
    without: Patch;
}

const named = (list: [string, string][], key: string | undefined) =>
    list.find(([each]) => each === key)?.[1] ?? String(key);

/** Those that are set, in words. */
export function filtersOf(wish: Wish): Filter[] {
    const has = (name: string, words: (value: string) => string, part: string): Filter[] =>
        wish[name] === undefined ? [] : [{ name, words: words(wish[name]!), without: { [part]: undefined } }];
    return [
        ...has('model', (value) => `GPU “${value}”`, 'gpu'),
        ...has('max_rate_micro_per_hour', (value) => `At most ${money.toUnits(value, 2)} USDC an hour`, 'max'),
        ...has('continent', (value) => named(places, value), 'where'),
        ...has('verification_level', () => 'Checked by people', 'trust'),
        ...has('class', (value) => named(classes, value), 'class'),
        ...has('gpu_count', (value) => value === '1' ? 'At least 1 GPU' : `At least ${value} GPUs`, 'gpus'),
        ...has('min_vram_gib', (value) => `At least ${value} GiB a GPU`, 'vram'),
        ...has('min_bandwidth_mbps', (value) => `At least ${value} Mb/s down`, 'down'),
        ...has('backend', (value) => named(backends, value), 'backend'),
        ...has('tier', (value) => named(tiers, value), 'tier'),
        ...has('fits_only', () => 'Only what fits', 'fits'),
    ];
}

/** Everything but what one wants to run and the order. */
export const cleared: Patch = Object.fromEntries(['gpu', 'max', 'where', 'trust', 'class', 'gpus', 'vram', 'down',
    'backend', 'tier', 'fits'].map((name) => [name, undefined]));
