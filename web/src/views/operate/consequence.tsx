// A step of an operator: what it does is read before it is done, why is written beside it, and the button
// names it.
import type { BerthError } from 'berth-client';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { fieldError } from '../../api';
import { Button, Failure, Field, Sheet, TextArea } from '../../kit';

export interface ConsequenceProps {
    title: string;
    open: boolean;
    onClose: () => void;
    /** What it will do; further fields of the step. */
    children?: ComponentChildren;
    button: ComponentChildren;
    danger?: boolean;
    busy: boolean;
    error: BerthError | undefined;
    /** Not yet, while what it will do is not known, or cannot be done. */
    blocked?: boolean;
    run: (reason: string) => void;
}

export function Consequence(props: ConsequenceProps) {
    const [reason, setReason] = useState('');
    const { title, open, onClose, children, button, danger, busy, error, blocked, run } = props;
    const ofReason = fieldError(error, 'body.reason') ?? fieldError(error, 'query.reason');
    return <Sheet title={title} open={open} onClose={onClose}>
        <form class="stack" onSubmit={(event) => { event.preventDefault(); run(reason.trim()); }}>
            {children}
            <Field label="Why" hint="It is kept in the audit, for good." error={ofReason}>
                {(ids) => <TextArea {...ids} value={reason} onInput={setReason} maxLength={500} />}
            </Field>
            {error && !ofReason && <Failure error={error} />}
            <div class="actions">
                <Button kind={danger ? 'danger' : 'primary'} type="submit" busy={busy}
                    disabled={blocked || reason.trim() === ''}>{button}</Button>
                <Button onClick={onClose}>Not now</Button>
            </div>
        </form>
    </Sheet>;
}

/** Some steps wait for a second operator. */
export function saidOf(answer: object, done: string): string {
    return 'pending_action_id' in answer ? 'A second operator has to confirm it.' : done;
}
