// A secret that is shown once: masked until asked for, gone when one leaves.
import { useEffect, useState } from 'preact/hooks';
import { Button, Copy } from '../../kit';

/** Keeps a secret only as long as the view is there, and the page is. */
export function useSecret<T>(): [T | undefined, (secret: T | undefined) => void] {
    const [secret, setSecret] = useState<T>();
    useEffect(() => {
        const wipe = () => setSecret(undefined);
        addEventListener('pagehide', wipe);
        return () => {
            removeEventListener('pagehide', wipe);
            wipe();
        };
    }, []);
    return [secret, setSecret];
}

export function Secret({ text, label }: { text: string; label: string }) {
    const [isShown, setIsShown] = useState(false);
    return <div class="row">
        <code class="mono" style={{ overflowWrap: 'anywhere' }} aria-label={isShown ? undefined : `${label}, hidden`}>
            {isShown ? text : `${text.slice(0, 6)}${'•'.repeat(18)}`}
        </code>
        <Button small pressed={isShown} onClick={() => setIsShown(!isShown)}>{isShown ? 'Hide' : 'Show'}</Button>
        <Copy text={text} label={label} />
    </div>;
}
