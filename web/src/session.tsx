// Who is signed in, the same in every tab.
import type { ComponentChildren } from 'preact';
import { BerthError, type Answer } from 'berth-client';
import { useQuery } from '@tanstack/preact-query';
import { client, reads } from './api';
import { Loading } from './kit';
import { SignInForm } from './views/anyone/sign_in';

export type Session = Answer<'show_session'>;

const tabs = new BroadcastChannel('berth-session');
tabs.onmessage = () => void reads.invalidateQueries({ queryKey: ['session'] });

async function readSession(): Promise<Session | null> {
    try {
        return await client.call('show_session');
    } catch (fault) {
        if (fault instanceof BerthError && fault.status === 401) return null;
        throw fault;
    }
}

/** Undefined while it is not known, null for somebody who is not signed in. */
export function useSession(): Session | null | undefined {
    const { data } = useQuery({ queryKey: ['session'], queryFn: readSession, refetchInterval: 5 * 60_000 });
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
    await reads.resetQueries();
    tabs.postMessage('changed');
}

export async function signOut(): Promise<void> {
    await client.call('sign_out');
    reads.clear();
    tabs.postMessage('changed');
    location.assign('/');
}

/** Asks for a sign-in in place; the address stays, and what is within comes afterwards. */
export function SignedIn({ children, why }: { children: ComponentChildren; why?: string }) {
    const session = useSession();
    if (session === undefined) return <main class="page" id="main"><Loading /></main>;
    if (session) return <>{children}</>;
    return <main class="page narrow-page" id="main" tabIndex={-1}>
        <h1>Sign in</h1>
        <p class="soft">{why ?? 'This page is yours alone.'}</p>
        <SignInForm onDone={() => void signedIn()} />
    </main>;
}
