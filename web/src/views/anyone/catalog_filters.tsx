// What one looks for. Every choice is in the address, so that a search can be kept and sent.
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Field, Icon, Select, TextInput } from '../../kit';
import { backends, classes, cleared, filtersOf, microOf, places, tiers, trusts, type Patch, type Query }
    from './filters';
import type { Template } from './market';
import type { Wish } from './soon';

/** A letter is asked for almost at once; who types much waits for a pause. The service answers an address twice a
 * second, on the whole. */
const [soonMs, laterMs, soonMax, withinMs] = [25, 300, 24, 30_000];
let askedAt: number[] = [];

function pauseMs(): number {
    askedAt = askedAt.filter((at) => performance.now() - at < withinMs);
    return askedAt.length < soonMax ? soonMs : laterMs;
}

interface Props {
    query: Query;
    wish: Wish;
    set: (patch: Patch) => void;
    templates: Template[];
    /** The slug that is chosen; empty for anything. */
    run: string;
    gpus: string[];
}

/** Text that is written down a moment after the last key; what changes elsewhere is taken over. */
function useTyped(value: string, write: (text: string) => void): [string, (text: string) => void] {
    const [text, setText] = useState(value);
    const written = useRef(value);
    useEffect(() => {
        if (value !== written.current) setText(value);
        written.current = value;
    }, [value]);
    useEffect(() => {
        if (text === written.current) return;
        const timer = setTimeout(() => {
            written.current = text;
            askedAt.push(performance.now());
            write(text);
        }, pauseMs());
        return () => clearTimeout(timer);
    }, [text]);
    return [text, setText];
}

const kinds: [string, string][] = [['model', ''], ['classical', ' (tools)'], ['custom', ' (own)']];

export function templateChoices(templates: Template[]): [string, string][] {
    return kinds.flatMap(([kind, suffix]) => templates.filter((each) => each.kind === kind)
        .map((each): [string, string] => [each.template_id, each.name + suffix]));
}

export function CatalogFilters(props: Props) {
    const { query, set, templates, run, gpus } = props;
    const [gpu, setGpu] = useTyped(query['gpu'] ?? '', (text) => set({ gpu: text }));
    const [most, setMost] = useTyped(query['max'] ?? '', (text) => set({ max: text }));
    const isBad = most.trim() !== '' && microOf(most) === undefined;
    return <form class="filters" role="search" aria-label="Find an offer" onSubmit={(event) => event.preventDefault()}>
        <Field label="What do you want to run?">{(ids) => <Select {...ids} value={run}
            onChange={(value) => set({ run: value || 'any' })}
            options={[['', 'Anything'], ...templateChoices(templates)]} />}</Field>
        <Field label="GPU">{(ids) => <>
            <input id={ids.id} class="input" value={gpu} placeholder="Any GPU" list="gpu-models" autocomplete="off"
                data-filter onInput={(event) => setGpu(event.currentTarget.value)} />
            <datalist id="gpu-models">{gpus.map((model) => <option key={model} value={model} />)}</datalist>
        </>}</Field>
        <Field label="Most per hour" error={isBad ? 'An amount such as 0.50.' : undefined}>
            {(ids) => <div class="with-unit">
                <TextInput {...ids} value={most} onInput={setMost} inputMode="decimal" placeholder="No limit" />
                <span>USDC</span>
            </div>}
        </Field>
        <Field label="Where">{(ids) => <Select {...ids} value={query['where'] ?? ''}
            onChange={(value) => set({ where: value })} options={places} />}</Field>
        <Field label="Trust">{(ids) => <Select {...ids} value={query['trust'] ?? ''}
            onChange={(value) => set({ trust: value })} options={trusts} />}</Field>
    </form>;
}

const further = ['class', 'gpus', 'vram', 'down', 'backend', 'tier', 'fits'];

function MoreFilters({ query, set, run }: Props) {
    const [gpus, setGpus] = useTyped(query['gpus'] ?? '', (text) => set({ gpus: text }));
    const [vram, setVram] = useTyped(query['vram'] ?? '', (text) => set({ vram: text }));
    const [down, setDown] = useTyped(query['down'] ?? '', (text) => set({ down: text }));
    const wholeError = (text: string) => text && !/^[1-9]\d{0,6}$/.test(text) ? 'A whole number.' : undefined;
    return <div class="filters" role="group" aria-label="More filters" id="more-filters">
        <Field label="Can the host take it back?">{(ids) => <Select {...ids} value={query['class'] ?? ''}
            onChange={(value) => set({ class: value })} options={classes} />}</Field>
        <Field label="GPUs at least" error={wholeError(gpus)}>{(ids) => <TextInput {...ids} value={gpus}
            onInput={setGpus} inputMode="numeric" placeholder="1" />}</Field>
        <Field label="Memory of a GPU" error={wholeError(vram)}>{(ids) => <div class="with-unit">
            <TextInput {...ids} value={vram} onInput={setVram} inputMode="numeric" placeholder="Any" />
            <span>GiB</span></div>}</Field>
        <Field label="Download" error={wholeError(down)}>{(ids) => <div class="with-unit">
            <TextInput {...ids} value={down} onInput={setDown} inputMode="numeric" placeholder="Any" />
            <span>Mb/s</span></div>}</Field>
        <Field label="Programmed with">{(ids) => <Select {...ids} value={query['backend'] ?? ''}
            onChange={(value) => set({ backend: value })} options={backends} />}</Field>
        <Field label="Kind">{(ids) => <Select {...ids} value={query['tier'] ?? ''}
            onChange={(value) => set({ tier: value })} options={tiers} />}</Field>
        {run && <Field label="What does not fit">{(ids) => <Select {...ids} value={query['fits'] === '1' ? '1' : ''}
            onChange={(value) => set({ fits: value })} options={[['', 'Shown'], ['1', 'Left out']]} />}</Field>}
    </div>;
}

/** Whether the filters that few need are open, and the button for it. */
export function useFurther(query: Query): [boolean, VNode] {
    const [isOpen, setOpen] = useState(() => further.some((name) => query[name]));
    return [isOpen, <button class="btn quiet small" type="button" aria-expanded={isOpen} aria-controls="more-filters"
        onClick={() => setOpen(!isOpen)}>{isOpen ? 'Fewer filters' : 'More filters'}</button>];
}

/** The filters that few need, and what is set, each to be taken away. */
export function FurtherFilters({ isOpen, button, ...props }: Props & { isOpen: boolean; button: VNode }) {
    const { query, wish } = props;
    const filters = filtersOf(wish);
    return <>
        {isOpen && <MoreFilters {...props} />}
        {filters.length > 0 && <div class="row" id="chips">
            {filters.map(({ name, words, without }) => <a key={name} class="chip" href={addressOf(query, without)}
                aria-label={`Remove filter: ${words}`}>{words} <Icon name="close" /></a>)}
            <a class="btn quiet small" href={addressOf(query, cleared)}>Clear all</a>
            {button}
        </div>}
    </>;
}

function addressOf(query: Query, patch: Patch): string {
    const wanted = Object.entries({ ...query, ...patch }).filter((each): each is [string, string] => !!each[1]);
    const text = new URLSearchParams(wanted).toString();
    return text ? `/?${text}` : '/';
}
