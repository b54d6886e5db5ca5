// Every address and its view. The catalog and signing in are in the first load; the rest comes in parts.
import type { FunctionComponent } from 'preact';
import { ErrorBoundary, Route, Router } from 'preact-iso';
import { Button, Empty, Page } from './kit';
import { view } from './lazy';
import { SignedIn } from './session';
import { Shell } from './shell';
import Catalog from './views/anyone/catalog';
import SignIn from './views/anyone/sign_in';

const anyone: Record<string, FunctionComponent> = {
    '/': Catalog,
    '/sign-in': SignIn,
    '/offers/:id': view(() => import('./views/anyone/offer')),
    '/templates': view(() => import('./views/anyone/templates')),
    '/templates/:slug': view(() => import('./views/anyone/template')),
    '/status': view(() => import('./views/anyone/status')),
    '/proof': view(() => import('./views/anyone/proof')),
};

const signedIn: Record<string, FunctionComponent> = {
    '/rentals': view(() => import('./views/renter/rentals')),
    '/rentals/:id': view(() => import('./views/renter/rental')),
    '/rentals/:id/receipt': view(() => import('./views/renter/receipt')),
    '/rentals/:id/evidence': view(() => import('./views/renter/evidence')),
    '/money': view(() => import('./views/money/money')),
    '/money/add': view(() => import('./views/money/add')),
    '/money/add/:intent': view(() => import('./views/money/add')),
    '/money/withdraw': view(() => import('./views/money/withdraw')),
    '/account/:tab': view(() => import('./views/account/account')),
    '/help': view(() => import('./views/help/tickets')),
    '/help/:id': view(() => import('./views/help/ticket')),
    '/host': view(() => import('./views/host/host')),
    '/host/machines/new': view(() => import('./views/host/new_machine')),
    '/host/machines/:id': view(() => import('./views/host/machine')),
    '/host/machines/:id/offer': view(() => import('./views/host/offer')),
    '/host/earnings': view(() => import('./views/host/earnings')),
    '/host/payouts': view(() => import('./views/host/payouts')),
    '/operate': view(() => import('./views/operate/overview')),
    '/operate/disputes': view(() => import('./views/operate/disputes')),
    '/operate/disputes/:id': view(() => import('./views/operate/dispute')),
    '/operate/rentals': view(() => import('./views/operate/rentals')),
    '/operate/rentals/:id': view(() => import('./views/operate/rental')),
    '/operate/users': view(() => import('./views/operate/users')),
    '/operate/users/:id': view(() => import('./views/operate/user')),
    '/operate/machines': view(() => import('./views/operate/machines')),
    '/operate/machines/:id': view(() => import('./views/operate/machine')),
    '/operate/gates': view(() => import('./views/operate/gates')),
    '/operate/search': view(() => import('./views/operate/search')),
    '/operate/pending': view(() => import('./views/operate/pending')),
    '/operate/refunds': view(() => import('./views/operate/refunds')),
    '/operate/suspense': view(() => import('./views/operate/suspense')),
    '/operate/treasury': view(() => import('./views/operate/treasury')),
    '/operate/tasks': view(() => import('./views/operate/tasks')),
    '/operate/settings': view(() => import('./views/operate/settings')),
    '/operate/audit': view(() => import('./views/operate/audit')),
    '/operate/templates': view(() => import('./views/operate/templates')),
    '/operate/tickets': view(() => import('./views/operate/tickets')),
    '/operate/reports': view(() => import('./views/operate/reports')),
    '/operate/branding': view(() => import('./views/operate/branding')),
};

const routes = [...Object.entries(anyone),
    ...Object.entries(signedIn).map(([path, View]) => [path, behindSignIn(View)] as const)];

function behindSignIn(View: FunctionComponent): FunctionComponent {
    return () => <SignedIn><View /></SignedIn>;
}

function Nowhere() {
    return <Page title="Nothing is here">
        <Empty title="This address leads nowhere." action={<Button kind="primary" href="/">See offers</Button>}>
            It may have been mistyped, or what it named is gone.
        </Empty>
    </Page>;
}

export function App() {
    return <Shell>
        <ErrorBoundary>
            <Router>
                {routes.map(([path, component]) => <Route key={path} path={path} component={component} />)}
                <Route default component={Nowhere} />
            </Router>
        </ErrorBoundary>
    </Shell>;
}
