// The page to sign in, by a code or by the link of the mail.
import { useEffect, useRef, useState } from 'preact/hooks';
import { reads } from '../../api';
import { Money, plural } from '../../format';
import { Button, Mark, toast } from '../../kit';
import { go, ownAddress, useQuery } from '../../router';
import { signedIn, useSession, type Session } from '../../session';
import { Heading, LinkForm, SignInForm } from './sign_in_form';
import { useBranding, useCatalog } from './soon';
import { Tide } from './tide';

export { SignInForm } from './sign_in_form';

/** What stands after # in the link; it leaves the address at once, and so the history. */
function takeToken(): string {
    const token = location.hash.slice(1).replace(/^token=/, '');
    if (token) history.replaceState(history.state, '', location.pathname + location.search);
    return token;
}

/** A link may be another's, sent so that one goes on in their account. */
function tellWho(): void {
    const session = reads.getQueryData<Session>(['session']);
    if (session?.email) toast(`You are signed in as ${session.email}.`);
}

export default function SignInPage() {
    const [query] = useQuery();
    const next = ownAddress(query['next']) ?? '/';
    const session = useSession();
    const [token, setToken] = useState(takeToken);
    const isDone = useRef(false);
    const { name, hasLogo } = useBranding();
    useEffect(() => { document.title = `Sign in · ${name}`; }, [name]);
    const done = (byLink = false) => {
        isDone.current = true;
        void signedIn().then(() => { if (byLink) tellWho(); }).finally(() => go(next, true));
    };
    const leave = (event: Event) => {
        event.preventDefault();
        go(next);
    };
    return <div class="sign">
        <aside class="sea" aria-label="About this service">
            <Tide />
            <a class="brand" href="/">{hasLogo ? <img src="/branding/logo" alt="" height={24} /> : <Mark />}{name}</a>
            <div class="tight"><p class="motto">Safe berths for heavy models.</p><Today /></div>
        </aside>
        <main id="main" tabIndex={-1}>
            {session && !token && !isDone.current
                ? <form onSubmit={leave}><Heading isPage title="You are signed in">
                    {session.email ? <>As <span class="strong">{session.email}</span>.</>
                        : 'As an agent’s account.'}</Heading>
                    <Button kind="primary" wide type="submit">Go on</Button></form>
                : token ? <LinkForm isPage token={token} onDone={() => done(true)}
                    here={isDone.current ? undefined : session?.email ?? undefined} onOther={() => setToken('')} />
                : <SignInForm isPage onDone={() => done()} />}
        </main>
    </div>;
}

function Today() {
    const { data } = useCatalog({ limit: '1' });
    if (!data || data.total === 0) return null;
    const lowest = data.lowest_rate_micro_per_gpu_hour;
    return <p class="only-wide">{plural(data.total, 'machine')} can be rented now
        {lowest !== null && <>, from <Money micro={lowest} places={4} /> an hour</>}.</p>;
}
