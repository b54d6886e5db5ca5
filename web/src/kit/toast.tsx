import { useEffect, useRef, useState } from 'preact/hooks';

let show: ((text: string) => void) | undefined;
const shownMs = 5000;

/** One short line, above everything, said to those who listen. */
export function toast(text: string) {
    show?.(text);
}

/** Stands once in the frame. */
export function Toasts() {
    const [said, setSaid] = useState<{ text: string }>();
    const place = useRef<HTMLDivElement>(null);
    useEffect(() => {
        show = (text) => setSaid({ text });
        return () => { show = undefined; };
    }, []);
    useEffect(() => {
        if (!said) return;
        // Shown anew each time, so that it lies above a sheet that was opened since.
        place.current?.showPopover?.();
        const timer = setTimeout(() => setSaid(undefined), shownMs);
        return () => {
            clearTimeout(timer);
            place.current?.hidePopover?.();
        };
    }, [said]);
    return <div ref={place} class="toasts" role="status" popover="manual">
        {said && <div class="toast">{said.text}
            <button type="button" class="btn small" onClick={() => setSaid(undefined)}>Close</button></div>}
    </div>;
}
