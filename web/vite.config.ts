// Built into dist, which is committed: the same sources and pins give the same bytes.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const server = process.env.BERTH_SERVER ?? 'http://127.0.0.1:8080';

export default defineConfig({
    resolve: {
        alias: { 'berth-client': fileURLToPath(new URL('../clients/typescript/src/index.ts', import.meta.url)) },
    },
    oxc: { jsx: { importSource: 'preact' } },
    build: {
        target: 'es2022',
        assetsInlineLimit: 0, // the policy of the page allows no data: addresses
        modulePreload: { polyfill: false },
        chunkSizeWarningLimit: 120,
    },
    // While one works on it: the page from here, everything else from a server whose sessions are bound
    // to its own origin.
    server: {
        proxy: Object.fromEntries(['/api', '/docs', '/terms', '/branding', '/.well-known', '/readyz'].map((path) =>
            [path, { target: server, changeOrigin: true, headers: { origin: server } }])),
    },
});
