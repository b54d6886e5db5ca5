import { QueryClientProvider } from '@tanstack/preact-query';
import { render } from 'preact';
import { LocationProvider } from 'preact-iso';
import { reads } from './api';
import { App } from './app';
import { RouterHandle } from './router';
import { applyTheme } from './theme';

// Addresses of the server's own pages are not this program's.
const own = /^\/($|\?|offers|templates|status|proof|sign-in|rentals|money|account|help|host|operate)/;
const patienceMs = 500; // some windows that can be seen are not painted either

/** Once what stands in the page itself was painted: the program would keep the browser from it. A page that nobody
 * sees is not painted. */
function painted(): Promise<void> {
    if (document.hidden) return Promise.resolve();
    return new Promise((done) => {
        setTimeout(done, patienceMs);
        requestAnimationFrame(() => {
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = () => done(); // after this frame
            port2.postMessage(undefined);
        });
    });
}

function decoded(text: string): string | undefined {
    try {
        return decodeURIComponent(text);
    } catch {
        return undefined;
    }
}

/** What cannot be decoded is taken as it is written: an address that leads nowhere says so. */
function mendAddress(): void {
    const { pathname, search, hash } = location;
    if (decoded(pathname) !== undefined) return;
    history.replaceState(history.state, '', pathname.replaceAll('%', '%25') + search + hash);
}

function start(app: HTMLElement): void {
    render(
        <QueryClientProvider client={reads}>
            <LocationProvider scope={own}>
                <RouterHandle />
                <App />
            </LocationProvider>
        </QueryClientProvider>,
        app,
    );
}

mendAddress();
applyTheme();
const app = document.getElementById('app')!;
if (location.pathname === '/sign-in') {
    app.replaceChildren(); // nothing stands around it
    start(app);
} else {
    void painted().then(() => start(app));
}
