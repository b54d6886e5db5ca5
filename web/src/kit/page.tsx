import type { ComponentChildren } from 'preact';
import { useRoute } from 'preact-iso';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useOwnId } from './own_id';

export type Crumb = [label: string, href: string];

export interface PageProps {
    title: string;
    crumbs?: Crumb[];
    facts?: ComponentChildren;
    actions?: ComponentChildren;
    /** How fresh it is: stands with a light beside the actions. */
    live?: ComponentChildren;
    /** Of the tab, where it should say something else than the heading. */
    tabTitle?: string;
    children?: ComponentChildren;
}

let siteName = document.title;

/** What stands behind the title of each view. */
export function nameSite(name: string): void {
    const [before, after] = [` \u00b7 ${siteName}`, ` \u00b7 ${name}`];
    if (document.title.endsWith(before)) document.title = document.title.slice(0, -before.length) + after;
    siteName = name;
}

let lastPath: string | undefined;

/** The heading takes the focus when one came here from another address, not on the first page; what wants it
 * (it could not have it while it was hidden) goes before. */
function useArrival(heading: { current: HTMLElement | null }, isComing: boolean) {
    // As it was when the view came: the last one is drawn once more while the next is loaded.
    const { path } = useRoute();
    useEffect(() => {
        if (isComing) return; // it may be hidden as yet
        const main = heading.current?.closest('main');
        const wanted = main?.querySelector<HTMLElement>('[data-wants-focus]');
        const hasArrived = lastPath !== undefined && lastPath !== path;
        const { activeElement: at } = document;
        const isTaken = at !== heading.current && main?.contains(at);
        if (!isTaken && (wanted || hasArrived)) (wanted ?? heading.current)?.focus({ preventScroll: true });
        lastPath = path;
    }, [path, isComing]);
}

const comingMsMax = 400;
const unsettled = '.loading, [data-s="run"], [data-settling]';

/** The parts of a view are shown together when the last of them is read, so that none pushes another about. What
 * takes long shows where it will stand. */
function useComing(main: { current: HTMLElement | null }): boolean {
    const [isComing, setComing] = useState(true);
    useEffect(() => {
        const end = performance.now() + comingMsMax;
        let wanted = 0;
        const look = () => {
            if (performance.now() < end && main.current?.querySelector(unsettled)) wanted = requestAnimationFrame(look);
            else setComing(false);
        };
        wanted = requestAnimationFrame(look);
        return () => cancelAnimationFrame(wanted);
    }, []);
    return isComing;
}

export function Page({ title, crumbs, facts, actions, live, tabTitle, children }: PageProps) {
    const heading = useRef<HTMLHeadingElement>(null);
    const main = useRef<HTMLElement>(null);
    const isComing = useComing(main);
    useArrival(heading, isComing);
    useEffect(() => { document.title = `${tabTitle ?? title} \u00b7 ${siteName}`; }, [title, tabTitle]);
    return <main ref={main} id="main" class={isComing ? 'page coming' : 'page'} tabIndex={-1}>
        {crumbs && <Crumbs crumbs={crumbs} title={title} />}
        <div class="head">
            <div>
                <h1 ref={heading} tabIndex={-1}>{title}</h1>
                {facts && <div class="facts">{facts}</div>}
            </div>
            {(actions || live) && <div class="actions">{live && <span class="live"><span>{live}</span></span>}{actions}</div>}
        </div>
        {children}
    </main>;
}

function Crumbs({ crumbs, title }: { crumbs: Crumb[]; title: string }) {
    return <nav class="crumbs" aria-label="Where you are">
        {crumbs.map(([label, href]) => <><a href={href}>{label}</a><span aria-hidden="true">/</span></>)}
        <span aria-current="page">{title}</span>
    </nav>;
}

export interface PanelProps {
    title?: ComponentChildren;
    aside?: ComponentChildren;
    footer?: ComponentChildren;
    /** Without padding: for tables and lists that reach the edge. */
    flush?: boolean;
    tight?: boolean;
    id?: string;
    /** Where there is no title. */
    label?: string;
    children?: ComponentChildren;
}

export function Panel({ title, aside, footer, flush, tight, id, label, children }: PanelProps) {
    const heading = useOwnId();
    return <section class={flush ? 'panel flush' : 'panel'} id={id} aria-label={label}
        aria-labelledby={title && !label ? heading : undefined}>
        {(title || aside) && <header>
            {title && <h2 id={heading}>{title}</h2>}
            {typeof aside === 'string' ? <span class="small muted">{aside}</span> : aside}
        </header>}
        {flush ? children : <div class={tight ? 'body tight' : 'body stack'}>{children}</div>}
        {footer && <footer>{footer}</footer>}
    </section>;
}

/** `current` is the address or the label of the one that is shown. */
export function Tabs({ items, current, label = 'Parts' }: { items: Crumb[]; current: string; label?: string }) {
    return <nav class="tabs" aria-label={label}>
        {items.map(([name, href]) =>
            <a key={href} href={href}
                aria-current={current === href || current === name ? 'page' : undefined}>{name}</a>)}
    </nav>;
}
