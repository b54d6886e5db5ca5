// A sheet that asks before something is done, and stays open with the reason where it fails.
import type { ComponentChildren } from 'preact';
import type { BerthError } from 'berth-client';
import { Button, Failure, Sheet } from '../../kit';

export function Ask({ title, action, keep = 'Not now', busy, error, onDo, onClose, disabled, children }: {
    title: string; action: string; keep?: string; busy: boolean; error: BerthError | undefined;
    onDo: () => void; onClose: () => void; disabled?: boolean; children?: ComponentChildren;
}) {
    return <Sheet title={title} open onClose={onClose} actions={<>
        <Button kind="danger" busy={busy} disabled={disabled} onClick={onDo}>{action}</Button>
        <Button onClick={onClose}>{keep}</Button>
    </>}>
        {children}
        {error && <Failure error={error} />}
    </Sheet>;
}
