// An operator who has left: after 25 minutes without a hand on it the page asks for nothing more, so that the
// session can end. The first sign of somebody wakes it.
import { focusManager } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';

const restMs = 25 * 60_000;
const signs = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'];

/** While it is true, reads rest as those of a hidden page do. */
export function useRest(isWatched: boolean): boolean {
    const [isResting, setResting] = useState(false);
    useEffect(() => {
        if (!isWatched) return;
        let timer: ReturnType<typeof setTimeout> | undefined;
        const tell = (rests: boolean) => {
            focusManager.setFocused(rests ? false : undefined);
            setResting(rests);
        };
        const wake = () => {
            clearTimeout(timer);
            timer = setTimeout(() => tell(true), restMs);
            tell(false);
        };
        wake();
        for (const sign of signs) addEventListener(sign, wake, { passive: true });
        return () => {
            clearTimeout(timer);
            for (const sign of signs) removeEventListener(sign, wake);
            tell(false);
        };
    }, [isWatched]);
    return isResting;
}
