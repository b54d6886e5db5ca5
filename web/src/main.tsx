import { QueryClientProvider } from '@tanstack/preact-query';
import { render } from 'preact';
import { LocationProvider } from 'preact-iso';
import { reads } from './api';
import { App } from './app';
import { RouterHandle } from './router';
import { applyTheme } from './theme';

applyTheme();

// Addresses of the server's own pages are not this program's.
const own = /^\/($|\?|offers|templates|status|proof|sign-in|rentals|money|account|help|host|operate)/;

const app = document.getElementById('app')!;
// Nothing stands around signing in.
if (location.pathname === '/sign-in') app.replaceChildren();

render(
    <QueryClientProvider client={reads}>
        <LocationProvider scope={own}>
            <RouterHandle />
            <App />
        </LocationProvider>
    </QueryClientProvider>,
    app,
);
