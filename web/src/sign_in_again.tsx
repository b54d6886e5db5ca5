// A session that ends under somebody's hands: the page keeps what was written in it and shows nothing of it, one
// signs in again in a sheet, and what was asked for goes on.
import { useEffect, useState } from 'preact/hooks';
import { beginAnew, reads } from './api';
import { Sheet } from './kit';
import { cameBack, useSession } from './session';
import { SignInForm } from './views/anyone/sign_in_form';

type Settle = (isIn: boolean) => void;
let show: ((settle: Settle) => void) | undefined;
let asked: Promise<boolean> | undefined;

/** True once somebody is signed in. All who ask meanwhile wait for the one sheet. */
export function askSignIn(): Promise<boolean> {
    reads.setQueryData(['session'], null);
    asked ??= new Promise<boolean>((settle) => {
        if (show) show(settle);
        else settle(false);
    }).finally(() => { asked = undefined; });
    return asked;
}

export function SignInAgainSheet() {
    const [settle, setSettle] = useState<Settle>();
    const isIn = !!useSession();
    useEffect(() => {
        show = (wanted) => setSettle(() => wanted);
        return () => { show = undefined; };
    }, []);
    const end = (isMended: boolean) => {
        setSettle(undefined);
        settle?.(isMended);
    };
    useEffect(() => { if (isIn) end(true); }, [isIn]); // in another tab, too
    if (!settle) return null;
    return <Sheet title="You were signed out" open onClose={beginAnew}>
        <p class="soft">What you wrote is still here, and goes on once you are in. If you close this, it is gone.</p>
        <SignInForm onDone={() => void cameBack().then(end, () => end(false))} />
    </Sheet>;
}
