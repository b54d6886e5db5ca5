// A session that ends under somebody's hands: the page stays with what was written in it, one signs in again in
// a sheet, and what was asked for goes on.
import { useEffect, useState } from 'preact/hooks';
import { Sheet } from './kit';
import { cameBack } from './session';
import { SignInForm } from './views/anyone/sign_in_form';

type Settle = (isIn: boolean) => void;
let show: ((settle: Settle) => void) | undefined;
let asked: Promise<boolean> | undefined;

/** True once somebody is signed in. All who ask meanwhile wait for the one sheet. */
export function askSignIn(): Promise<boolean> {
    asked ??= new Promise<boolean>((settle) => {
        if (show) show(settle);
        else settle(false);
    }).finally(() => { asked = undefined; });
    return asked;
}

export function SignInAgainSheet() {
    const [settle, setSettle] = useState<Settle>();
    useEffect(() => {
        show = (wanted) => setSettle(() => wanted);
        return () => { show = undefined; };
    }, []);
    if (!settle) return null;
    const end = (isIn: boolean) => {
        setSettle(undefined);
        settle(isIn);
    };
    return <Sheet title="You were signed out" open onClose={() => end(false)}>
        <p class="soft">What you wrote is still here, and goes on once you are in.</p>
        <SignInForm onDone={() => void cameBack().then(end, () => end(false))} />
    </Sheet>;
}
