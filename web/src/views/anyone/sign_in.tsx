// The page to sign in, by a code or by the link of the mail.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Money, plural } from '../../format';
import { Button, Mark } from '../../kit';
import { go, useQuery } from '../../router';
import { signedIn, useSession } from '../../session';
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

/** Only addresses of this site: a link from elsewhere must not lead on to somewhere else. */
function nextOf(next: string | undefined): string {
    return next && /^\/(?![/\\])[^\s\\]*$/.test(next) ? next : '/';
}

export default function SignInPage() {
    const [query] = useQuery();
    const session = useSession();
    const [token, setToken] = useState(takeToken);
    const isDone = useRef(false);
    const { name, hasLogo } = useBranding();
    useEffect(() => { document.title = `Sign in · ${name}`; }, [name]);
    const done = () => {
        isDone.current = true;
        void signedIn().finally(() => go(nextOf(query['next']), true));
    };
    const leave = (event: Event) => {
        event.preventDefault();
        go(nextOf(query['next']));
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
                : token ? <LinkForm isPage token={token} onDone={done} onOther={() => setToken('')} />
                : <SignInForm isPage onDone={done} />}
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
