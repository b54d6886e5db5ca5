// What stands around every view: the rail, the bar on phones, and notices that concern all of them.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useRead } from './api';
import { Button, Icon, nameSite, Notice, Toasts, type IconName } from './kit';
import { useFocusKept } from './focus';
import { Money } from './format';
import { useLive } from './live';
import { signOut, useSession } from './session';
import { useShortcuts, ShortcutHelp } from './shortcuts';
import { SignInAgainSheet } from './sign_in_again';
import { StepUpSheet } from './step_up';
import { ThemeSwitch } from './theme';

interface Place { label: string; href: string; icon: IconName; also?: string }

const renting: Place[] = [
    { label: 'Offers', href: '/', icon: 'tag', also: '/offers' },
    { label: 'Templates', href: '/templates', icon: 'box' },
    { label: 'Rentals', href: '/rentals', icon: 'play' },
    { label: 'Money', href: '/money', icon: 'coins' },
];
const hosting: Place[] = [
    { label: 'Machines', href: '/host', icon: 'machine', also: '/host/machines' },
    { label: 'Earnings', href: '/host/earnings', icon: 'chart' },
    { label: 'Payouts', href: '/host/payouts', icon: 'out' },
];
const operating: Place[] = [
    { label: 'Overview', href: '/operate', icon: 'eye' },
    { label: 'Search', href: '/operate/search', icon: 'search' },
    { label: 'Pending', href: '/operate/pending', icon: 'two' },
    { label: 'Users', href: '/operate/users', icon: 'user' },
    { label: 'Rentals', href: '/operate/rentals', icon: 'play' },
    { label: 'Machines', href: '/operate/machines', icon: 'machine' },
    { label: 'Gates', href: '/operate/gates', icon: 'link' },
    { label: 'Disputes', href: '/operate/disputes', icon: 'scale', also: '/operate/refunds' },
    { label: 'Tickets', href: '/operate/tickets', icon: 'help' },
    { label: 'Suspense', href: '/operate/suspense', icon: 'coins' },
    { label: 'Treasury', href: '/operate/treasury', icon: 'lock' },
    { label: 'Tasks', href: '/operate/tasks', icon: 'list' },
    { label: 'Templates', href: '/operate/templates', icon: 'box' },
    { label: 'Reports', href: '/operate/reports', icon: 'chart' },
    { label: 'Settings', href: '/operate/settings', icon: 'gear' },
    { label: 'Audit', href: '/operate/audit', icon: 'list' },
    { label: 'Branding', href: '/operate/branding', icon: 'eye' },
];
const own: Place[] = [
    { label: 'Account', href: '/account/keys', icon: 'user', also: '/account' },
    { label: 'Help', href: '/help', icon: 'help' },
];

/** The place whose address is the longest beginning of this one. */
function currentOf(places: readonly Place[], path: string): Place | undefined {
    const reach = ({ href, also }: Place) => Math.max(...[href, also ?? href].map((begin) =>
        path === begin || (begin !== '/' && path.startsWith(`${begin}/`)) ? begin.length : -1));
    return [...places].sort((one, other) => reach(other) - reach(one)).find((place) => reach(place) >= 0);
}

function Places({ title, places, current }: { title: string; places: Place[]; current: Place | undefined }) {
    return <nav aria-label={title}>
        <h2>{title}</h2>
        {places.map((place) => <a key={place.href} href={place.href}
            aria-current={place === current ? 'page' : undefined}><Icon name={place.icon} />{place.label}</a>)}
    </nav>;
}

function Brand() {
    const { data, error } = useRead('show_branding');
    const name = data?.name ?? (error ? 'Berth' : undefined);
    useEffect(() => { if (name) nameSite(name); }, [name]);
    // Nobody's name stands here before the house's own.
    if (!name) return <a class="brand" href="/" aria-label="Start"><svg viewBox="0 0 24 24" aria-hidden="true" /></a>;
    return <a class="brand" href="/">
        {data?.has_logo ? <img src="/branding/logo" alt="" height={24} /> : <Icon name="mark" />}
        {name}
    </a>;
}

function Balance() {
    const session = useSession();
    const { data } = useRead('show_balances', {}, { every: 60, enabled: !!session });
    if (!session || !data) return null;
    return <a class="sum" href="/money"><Money micro={data.spendable_micro} asset={data.asset} /></a>;
}

function Rail({ path }: { path: string }) {
    const session = useSession();
    const groups: [string, Place[]][] = [['Rent', renting], ['Host', hosting]];
    if (session?.role === 'admin') groups.push(['Operate', operating]);
    if (session) groups.push(['You', own]);
    const current = currentOf(groups.flatMap(([, places]) => places), path);
    useEffect(() => { // operators have more places than a screen is high
        document.querySelector('.rail [aria-current]')?.scrollIntoView({ block: 'nearest' });
    }, [current?.href]);
    return <aside class="rail" aria-label="Sections">
        <Brand />
        {groups.map(([title, places]) => <Places key={title} {...{ title, places, current }} />)}
        <footer>
            {session ? <>
                <span>Spendable</span><Balance />
                <span class="clip">{session.email ?? 'An agent’s account'}</span>
                <Button small onClick={() => void signOut()}>Sign out</Button>
            </> : session === null && <>
                <Button small href="/sign-in">Sign in</Button>
                <span>No password, no card. A code by mail.</span>
            </>}
            <span class="row"><a href="/status">Status</a><a href="/proof">Proof</a><a href="/docs" data-native>API</a></span>
            <ThemeSwitch />
        </footer>
    </aside>;
}

/** Server's own pages are no views of this program. */
function Bar({ path }: { path: string }) {
    const session = useSession();
    const places = [...renting.filter(({ href }) => href !== '/templates'), hosting[0]!,
        session ? own[0]! : { label: 'Sign in', href: '/sign-in', icon: 'user' as IconName }];
    const current = currentOf(places, path);
    return <nav class="tabbar" aria-label="Sections, short">
        {places.map((place) => <a key={place.href} href={place.href}
            aria-current={place === current ? 'page' : undefined}><Icon name={place.icon} />{place.label}</a>)}
    </nav>;
}

/** A deploy under an open page: it goes on working, and says that there is a newer one. */
function Newer() {
    const { data } = useRead('public_status', {}, { every: 60 });
    const [first, setFirst] = useState<string>();
    const build = data?.console ?? undefined;
    useEffect(() => { if (build && !first) setFirst(build); }, [build, first]);
    if (data?.admission_paused)
        return <Notice title="New rentals are paused">What runs goes on.</Notice>;
    if (!build || !first || build === first) return null;
    return <Notice title="There is a newer console"
        actions={<Button small onClick={() => location.reload()}>Load it</Button>}>
        This page goes on working until then.
    </Notice>;
}

export function Shell({ children }: { children: ComponentChildren }) {
    const { path } = useLocation();
    useLive();
    useShortcuts();
    useFocusKept();
    // What stands around a view does not depend on its filters.
    const isBare = path === '/sign-in';
    return useMemo(() => <>
        {isBare ? children : <>
            <a class="skip" href="#main">Skip to the content</a>
            <div class="shell">
                <header class="topbar"><Brand /><Balance /></header>
                <Rail path={path} />
                <div class="view"><div class="page-notices"><Newer /></div>{children}</div>
                <Bar path={path} />
            </div>
        </>}
        <Toasts />
        <StepUpSheet />
        {!isBare && <><SignInAgainSheet /><ShortcutHelp /></>}
    </>, [path, children]);
}
