// What had the focus may go with what changed: a button whose step is done, a row that is over. Whoever works by
// keys then goes on at the heading, and not at the top of the page.
import { useEffect } from 'preact/hooks';

const patienceMs = 100; // what takes its place may take the focus, too

export function useFocusKept(): void {
    useEffect(() => {
        let last: EventTarget | null = null;
        let timer: ReturnType<typeof setTimeout> | undefined;
        const isLost = () => document.activeElement === document.body && last instanceof Node && !last.isConnected;
        const settle = () => {
            if (isLost()) document.querySelector('h1')?.focus({ preventScroll: true });
        };
        const note = ({ target }: FocusEvent) => { last = target; };
        const watch = new MutationObserver(() => {
            if (!isLost()) return;
            clearTimeout(timer);
            timer = setTimeout(settle, patienceMs);
        });
        document.addEventListener('focusin', note);
        watch.observe(document.body, { childList: true, subtree: true });
        return () => {
            clearTimeout(timer);
            watch.disconnect();
            document.removeEventListener('focusin', note);
        };
    }, []);
}
