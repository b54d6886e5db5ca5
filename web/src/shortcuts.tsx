// Keys: `?` says which, `g` and a letter goes somewhere, `j` and `k` walk rows. They rest while one types,
// and can be turned off.
import { useEffect, useState } from 'preact/hooks';
import { Button, Facts, Sheet } from './kit';
import { go } from './router';

const places: Record<string, string> = { o: '/', r: '/rentals', m: '/money', h: '/host' };
const patienceMs = 1_500;
let isOff = false;
let showHelp: (() => void) | undefined;

function isTyping(target: EventTarget | null): boolean {
    return target instanceof HTMLElement
        && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** The links of rows, in their order; focus goes one on. */
function walk(step: number): void {
    const rows = [...document.querySelectorAll<HTMLElement>('[data-row-link]')];
    const at = rows.indexOf(document.activeElement as HTMLElement);
    rows[Math.min(Math.max(at + step, 0), rows.length - 1)]?.focus();
}

export function useShortcuts(): void {
    useEffect(() => {
        let wentAt = 0;
        function press(event: KeyboardEvent) {
            if (isOff || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
            if (document.querySelector('dialog[open]')) return;
            const { key } = event;
            if (Date.now() - wentAt < patienceMs && places[key]) {
                event.preventDefault();
                go(places[key]);
            }
            wentAt = key === 'g' ? Date.now() : 0;
            if (key === '?') showHelp?.();
            if (key === 'j' || key === 'k') walk(key === 'j' ? 1 : -1);
            if (key === 'c') document.activeElement?.closest('tr, li, article')
                ?.querySelector<HTMLElement>('[data-copy-id]')?.click();
            if (key === '/') {
                const field = document.querySelector<HTMLElement>('[data-filter]');
                if (field) { event.preventDefault(); field.focus(); }
            }
        }
        document.addEventListener('keydown', press);
        return () => document.removeEventListener('keydown', press);
    }, []);
}

export function ShortcutHelp() {
    const [isOpen, setOpen] = useState(false);
    const [off, setOff] = useState(isOff);
    useEffect(() => {
        showHelp = () => setOpen(true);
        return () => { showHelp = undefined; };
    }, []);
    return <Sheet title="Keys" open={isOpen} onClose={() => setOpen(false)}>
        <Facts items={[
            ['?', 'this list'], ['/', 'the filter of a list'], ['g o', 'offers'], ['g r', 'rentals'],
            ['g m', 'money'], ['g h', 'your machines'], ['j k', 'the next and the last row'],
            ['Enter', 'opens it'], ['c', 'copies its id'], ['Esc', 'closes a sheet'],
        ]} />
        <div class="actions">
            <Button onClick={() => { isOff = !off; setOff(!off); }}>{off ? 'Turn keys on' : 'Turn keys off'}</Button>
            <Button onClick={() => setOpen(false)}>Close</Button>
        </div>
    </Sheet>;
}
