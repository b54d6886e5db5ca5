// Who is signed in, the same in every tab.
import type { ComponentChildren } from 'preact';
import { BerthError, type Answer } from 'berth-client';
import { useQuery } from '@tanstack/preact-query';
import { useEffect, useRef } from 'preact/hooks';
import { beginAnew, client, reads } from './api';
import { Loading, toast } from './kit';
import { askSignIn } from './sign_in_again';
import { SignInForm } from './views/anyone/sign_in';

export type Session = Answer<'show_session'>;

const tabs = new BroadcastChannel('berth-session');
tabs.onmessage = ({ data }: MessageEvent<'changed' | 'out'>) =>
    data === 'out' ? beginAnew() : void reads.invalidateQueries({ queryKey: ['session'] });
// A page that the browser has kept aside may be that of somebody who has left meanwhile.
addEventListener('pageshow', ({ persisted }) => { if (persisted) beginAnew(); });

/** Whose page this is, also once the session has ended. */
let owner: string | undefined;

async function readSession(): Promise<Session | null> {
    try {
        const session = await client.call('show_session');
        if (!session.mfa_required) await own(session.account_id);
        return session;
    } catch (fault) {
        if (fault instanceof BerthError && fault.status === 401) return null;
        throw fault;
    }
}

/** A page shows what is one account's: where another has signed in, in whichever tab, it begins anew. */
async function own(account: string): Promise<void> {
    owner ??= account;
    if (owner === account) return;
    beginAnew();
    await new Promise<never>(() => {});
}

/** Undefined while it is not known, null for somebody who is not signed in. */
export function useSession(): Session | null | undefined {
    const { data } = useQuery({ queryKey: ['session'], queryFn: readSession,
        refetchInterval: ({ state }) => state.data === undefined ? 5_000 : 5 * 60_000 });
    return data && data.mfa_required ? null : data;
}

export function useIsOperator(): boolean {
    return useSession()?.role === 'admin';
}

/** Tells the other tabs; never what: each reads the session for itself. */
export function sessionChanged(): void {
    tabs.postMessage('changed');
    void reads.invalidateQueries({ queryKey: ['session'] });
}

/** After a sign-in: what the page read before is another's, or nobody's. */
export async function signedIn(): Promise<void> {
    owner = undefined;
    await reads.resetQueries();
    tabs.postMessage('changed');
}

/** After a sign-in in the middle of something: the same person's page is read again in place and keeps what was
 * written. False for another's, which begins anew: what the first one asked for must not go on. */
export async function cameBack(): Promise<boolean> {
    const session = await readSession();
    tabs.postMessage('changed');
    if (session === null || session.account_id !== owner) return false;
    reads.setQueryData(['session'], session);
    void reads.invalidateQueries();
    return true;
}

export async function signOut(): Promise<void> {
    try {
        await client.call('sign_out');
    } catch (fault) {
        const isOut = fault instanceof BerthError && fault.status === 401;
        if (!isOut) return toast('You are still signed in: the service does not answer.');
    }
    reads.clear();
    tabs.postMessage('out');
    location.assign('/');
}

/** Asks for a sign-in in place; the address stays, and what is within comes afterwards. Where the session ends
 * later, what is within keeps what was written, and is seen by nobody. */
export function SignedIn({ children, why }: { children: ComponentChildren; why?: string }) {
    const session = useSession();
    const wasIn = useRef(false);
    wasIn.current ||= !!session;
    const isLost = session === null && wasIn.current;
    useEffect(() => { if (isLost) void askSignIn(); }, [isLost]);
    if (wasIn.current) return <div hidden={isLost}>{children}</div>;
    if (session === undefined) return <main class="page" id="main"><Loading /></main>;
    return <main class="page narrow-page" id="main" tabIndex={-1}>
        <h1>Sign in</h1>
        <p class="soft">{why ?? 'This page is yours alone.'}</p>
        <SignInForm onDone={() => void signedIn()} />
    </main>;
}
