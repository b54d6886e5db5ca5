import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { agoText, useNow } from '../format';
import { Button } from './button';
import { Copy } from './copy';
import { Icon, type IconName } from './icon';

export type NoticeTone = 'go' | 'way' | 'lamp' | 'stop';
const iconOf: Record<NoticeTone, IconName> = { go: 'pass', way: 'info', lamp: 'warn', stop: 'fail' };

export interface NoticeProps {
    tone?: NoticeTone;
    title: ComponentChildren;
    children?: ComponentChildren;
    actions?: ComponentChildren;
    role?: 'alert' | 'status';
    /** The title as a heading of its level; else it is bold text. */
    heading?: boolean;
}

export function Notice({ tone = 'way', title, children, actions, role, heading }: NoticeProps) {
    return <div class="notice" data-tone={tone} role={role}>
        <Icon name={iconOf[tone]} />
        <div>
            {heading ? <h2>{title}</h2> : <p class="title">{title}</p>}
            {typeof children === 'string' ? <p>{children}</p> : children}
        </div>
        {actions && <div class="actions">{actions}</div>}
    </div>;
}

interface Told {
    code?: string;
    message?: string;
    status?: number | null;
    requestId?: string | null;
    mayHaveHappened?: boolean;
}

const remedies: Record<string, string> = {
    NETWORK: 'The service cannot be reached. Look at your connection, then try again.',
    TIMEOUT: 'The service took too long. Try again.',
    UNAUTHENTICATED: 'Sign in again; what you wrote is still here.',
    FORBIDDEN: 'Your account may not do this.',
    NOT_FOUND: 'It is gone, or it is not yours to see.',
    INVALID_INPUT: 'Mend what is named and send it again.',
    ADMISSION_PAUSED: 'New rentals are paused. What runs goes on.',
    INSUFFICIENT_FUNDS: 'Add money, then come back here.',
    QUOTE_EXPIRED: 'Somebody was faster. Nothing was held.',
    VERSION_CONFLICT: 'It changed meanwhile. Look at it again, then repeat.',
    STALE_VERSION: 'It changed meanwhile. Look at it again, then repeat.',
    CONFLICT: 'It changed meanwhile. Look at it again, then repeat.',
    UNAVAILABLE: 'Nothing was changed. Try again in a few seconds.',
};

function remedyOf({ code, status, mayHaveHappened }: Told): string | undefined {
    if (!code) return 'This page made a mistake of its own. Load it again; if that does not help, write to us.';
    if (mayHaveHappened) return 'It may have been done all the same. Trying again does not do it twice.';
    if (status === 429) return 'Too many requests. Wait a minute, then try again.';
    return remedies[code ?? ''] ?? ((status ?? 0) >= 500 ? remedies['UNAVAILABLE'] : undefined);
}

/** A message of the API as a sentence: 'body.amount_micro: ' becomes 'Amount: '. */
function sentence(message: string): string {
    const said = message.replace(/^(?:body|query|path|header)[.[]?[^:\s]*?([a-z0-9_-]+)(?:\[\d+\])?: /i,
        (_, member: string) => `${member.replace(/_micro$/, '').replaceAll('_', ' ')}: `);
    const text = said.charAt(0).toUpperCase() + said.slice(1);
    return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** What went wrong, what to do, and the id under which the operator finds it. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
    if (error === null || error === undefined) return null;
    const told = error as Told;
    const again = retry && <Button onClick={retry} icon="retry">Try again</Button>;
    return <Notice tone={told.status === 404 ? 'lamp' : 'stop'} role="alert" actions={again}
        title={sentence(told.message || 'Something went wrong')}>
        <p>{remedyOf(told)}</p>
        {told.requestId && <p class="small">Request <span class="mono">{told.requestId}</span>{' '}
            <Copy text={told.requestId} label="the request id" /></p>}
    </Notice>;
}

function useElapsed(ms: number): boolean {
    const [isOver, setOver] = useState(false);
    useEffect(() => {
        const timer = setTimeout(() => setOver(true), ms);
        return () => clearTimeout(timer);
    }, [ms]);
    return isOver;
}

/** Has its height at once and shows from 150 ms on, so that nothing flickers or jumps. */
export function Loading({ rows = 3 }: { rows?: number }) {
    const isShown = useElapsed(150);
    const isLong = useElapsed(4000);
    return <div class={isShown ? 'loading' : 'loading unseen'} aria-busy="true">
        {Array.from({ length: rows }, (_, at) => <span key={at} class="skeleton" />)}
        <p class="small muted" role="status">{isLong ? 'Still waiting for the service.' : '\u00a0'}</p>
    </div>;
}

export function Empty({ title, children, action }: {
    title: string; children?: ComponentChildren; action?: ComponentChildren;
}) {
    return <div class="empty">
        <p class="title">{title}</p>
        {typeof children === 'string' ? <p class="soft">{children}</p> : children}
        {action && <div class="actions">{action}</div>}
    </div>;
}

interface Read<Data> {
    data: Data | undefined;
    error: unknown;
    isLoading?: boolean;
    isStale?: boolean;
    updatedAt?: number;
    refetch: () => unknown;
}

/** Old data stays while newer cannot be had, and says how old it is. */
export function Async<Data>({ read, children, rows }: {
    read: Read<Data>; children: (data: Data) => VNode | null; rows?: number;
}) {
    if (read.data !== undefined) {
        return <>
            {read.isStale ? <Stale at={read.updatedAt} /> : null}
            {children(read.data)}
        </>;
    }
    if (read.error) return <Failure error={read.error} retry={() => { read.refetch(); }} />;
    return <Loading rows={rows} />;
}

function Stale({ at }: { at?: number }) {
    useNow();
    // It was read by this device's clock.
    const age = at ? agoText(at, Date.now()).replace(/ ago$/, ' old') : 'Old';
    return <p class="stale small">{age}, trying again</p>;
}

interface Pages { hasMore: boolean; isLoadingMore: boolean; isStale?: boolean; more: () => unknown }

/** The end of a list: the way on, and whether what stands above it is old. */
export function More({ list }: { list: Pages }) {
    return <>
        {list.isStale && <p class="stale small" role="status">The service does not answer: this may be old.</p>}
        {list.hasMore && <div class="more">
            <Button small busy={list.isLoadingMore} onClick={() => { list.more(); }}>Show more</Button>
        </div>}
    </>;
}
