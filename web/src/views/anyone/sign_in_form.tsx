// Signing in without a password: an address, the code that was mailed to it, and the authenticator of those
// who have one.
import type { BerthError } from 'berth-client';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { fieldError, useChange } from '../../api';
import { countdownText, now, useNow } from '../../format';
import { Button, CodeInput, Failure, Field, Notice, TextInput } from '../../kit';
import { useBoxMail, useIsBox } from './soon';

export interface SignInFormProps {
    onDone: () => void;
    /** On a page of its own the step is the heading. */
    isPage?: boolean;
}

const againAfterMs = 30_000;

type Step = { at: 'mail' } | { at: 'code'; email: string; sentAt: number } | { at: 'authenticator' };

export function SignInForm({ onDone, isPage = false }: SignInFormProps) {
    const [step, setStep] = useState<Step>({ at: 'mail' });
    const [email, setEmail] = useState('');
    const verified = (isHalf: boolean) => isHalf ? setStep({ at: 'authenticator' }) : onDone();
    if (step.at === 'authenticator') return <AuthenticatorStep {...{ isPage, onDone }} />;
    if (step.at === 'code') return <CodeStep key={step.sentAt} email={step.email} sentAt={step.sentAt} isPage={isPage}
        onVerified={verified} onSent={() => setStep({ ...step, sentAt: now() })}
        onBack={() => setStep({ at: 'mail' })} />;
    return <MailStep {...{ email, setEmail, isPage }}
        onSent={() => setStep({ at: 'code', email: email.trim(), sentAt: now() })} />;
}

export function Heading({ isPage, title, children }: { isPage: boolean; title: string; children: ComponentChildren }) {
    return <div class="tight">
        {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
        <p class="soft">{children}</p>
    </div>;
}

/** The field of a step takes the focus when the step comes. */
function useFirstField() {
    const form = useRef<HTMLFormElement>(null);
    useEffect(() => form.current?.querySelector('input')?.focus(), []);
    return form;
}

/** A refusal beside the field that it is about, in the words of this step. */
function codeError(error: BerthError | undefined): string | undefined {
    if (!error) return undefined;
    if (error.code === 'AUTHORIZATION_INVALID') return 'That code is wrong, used or too old.';
    return fieldError(error, 'body.code');
}

function MailStep({ email, setEmail, isPage, onSent }: { email: string; setEmail: (text: string) => void;
    isPage: boolean; onSent: () => void }) {
    const form = useFirstField();
    const start = useChange('start_sign_in', { done: onSent });
    const beside = fieldError(start.error, 'body.email');
    const send = (event: Event) => {
        event.preventDefault();
        if (email.trim()) void start.run({ body: { email: email.trim() } });
    };
    return <form class="stack" ref={form} onSubmit={send} noValidate>
        <Heading isPage={isPage} title="Sign in">Without a password: we mail you a code.</Heading>
        <Field label="Mail address" error={beside}>{(ids) => <TextInput {...ids} type="email" value={email}
            onInput={setEmail} autoComplete="email" inputMode="email" placeholder="you@example.org"
            required />}</Field>
        {start.error && !beside && <Failure error={start.error} />}
        <Button kind="primary" wide type="submit" busy={start.busy} disabled={!email.trim()}>Mail me a code</Button>
        <p class="small muted">An address that is new here opens an account, under
            these <a href="/terms">terms</a>.</p>
    </form>;
}

interface CodeProps {
    email: string; sentAt: number; isPage: boolean; onVerified: (isHalf: boolean) => void; onSent: () => void;
    onBack: () => void;
}

function CodeStep({ email, sentAt, isPage, onVerified, onSent, onBack }: CodeProps) {
    const form = useFirstField();
    const [code, setCode] = useState('');
    const verify = useChange('verify_sign_in', { done: (answer) => onVerified(answer.mfa_required) });
    const again = useChange('start_sign_in', { done: onSent });
    const beside = codeError(verify.error);
    const give = (digits: string) => {
        if (digits.length === 6) void verify.run({ body: { email, code: digits } });
    };
    const type = (digits: string) => {
        setCode(digits);
        if (verify.error) verify.reset();
    };
    return <form class="stack" ref={form} onSubmit={(event) => { event.preventDefault(); give(code); }} noValidate>
        <Heading isPage={isPage} title="Enter your code">Six digits are on their way
            to <span class="strong">{email}</span>. They work once and for 10 minutes.</Heading>
        <Field label="Code" error={beside} hint="The link in the same mail works as well, on this device.">
            {(ids) => <CodeInput {...ids} large value={code} onInput={type} />}</Field>
        {verify.error && !beside && <Failure error={verify.error} />}
        <Button kind="primary" wide type="submit" busy={verify.busy} disabled={code.length !== 6}>Sign in</Button>
        <div class="row spread small">
            <Button kind="quiet" small onClick={onBack}>Another address</Button>
            <Again sentAt={sentAt} busy={again.busy} onAgain={() => void again.run({ body: { email } })} />
        </div>
        {again.error && <Failure error={again.error} />}
        <BoxCode email={email} onFill={(digits) => { setCode(digits); give(digits); }} />
    </form>;
}

function Again({ sentAt, busy, onAgain }: { sentAt: number; busy: boolean; onAgain: () => void }) {
    const left = sentAt + againAfterMs - useNow();
    if (left > 0) return <span class="muted">Another code in {countdownText(left)}</span>;
    return <Button kind="quiet" small busy={busy} onClick={onAgain}>Mail another code</Button>;
}

/** In a box no mail goes out: the code stands here, for everybody at this machine. */
function BoxCode({ email, onFill }: { email: string; onFill: (code: string) => void }) {
    const isBox = useIsBox();
    const { data } = useBoxMail(email, isBox);
    if (!isBox) return null;
    const newest = [...data?.items ?? []].sort((one, other) => other.sent_at.localeCompare(one.sent_at));
    const code = newest.map((mail) => /:\s*(\d{6})\b/.exec(mail.text)?.[1]).find((each) => each !== undefined);
    return <Notice title="This box keeps its mail" actions={code
        ? <Button small onClick={() => onFill(code)}>Fill it in</Button> : undefined}>
        <p class="small" role="status">{code ? <>It has play money only, and mails nobody. Your code is <span
            class="mono strong">{code}</span>.</>
                : 'It has play money only, and mails nobody. The code appears here.'}</p>
    </Notice>;
}

function AuthenticatorStep({ isPage, onDone }: { isPage: boolean; onDone: () => void }) {
    const form = useFirstField();
    const [code, setCode] = useState('');
    const give = useChange('give_second_factor', { done: onDone });
    const beside = give.error?.code === 'AUTHORIZATION_INVALID' ? 'That code is wrong or used. Wait for the next.'
        : fieldError(give.error, 'body.code');
    useEffect(() => { if (give.error && code === '') give.reset(); }, [code]);
    const send = (event: Event) => {
        event.preventDefault();
        if (code.trim()) void give.run({ body: { code: code.trim().replaceAll(' ', '') } });
    };
    return <form class="stack" ref={form} onSubmit={send} noValidate>
        <Heading isPage={isPage} title="Your authenticator">This account has a second lock.</Heading>
        <Field label="Code of your authenticator" hint="Six digits, or one of your recovery codes." error={beside}>
            {(ids) => <TextInput {...ids} value={code} onInput={setCode} autoComplete="one-time-code" mono />}
        </Field>
        {give.error && !beside && <Failure error={give.error} />}
        <Button kind="primary" wide type="submit" busy={give.busy} disabled={code.trim().length < 6}>Sign in</Button>
    </form>;
}

/** The way in by the link of the mail: a press, so that programs that open links spend no token. */
export function LinkForm({ token, here, isPage = false, onDone, onOther }: SignInFormProps & { token: string;
    /** The address of whoever is signed in already. */
    here: string | undefined; onOther: () => void }) {
    const [isHalf, setHalf] = useState(false);
    const verify = useChange('verify_sign_in',
        { done: (answer) => answer.mfa_required ? setHalf(true) : onDone() });
    if (isHalf) return <AuthenticatorStep {...{ isPage, onDone }} />;
    const isSpent = verify.error?.code === 'AUTHORIZATION_INVALID';
    return <form class="stack" onSubmit={(event) => { event.preventDefault(); void verify.run({ body: { token } }); }}>
        <Heading isPage={isPage} title={isSpent ? 'This link is used up' : 'Welcome'}>
            {isSpent ? 'It was used already, or it is too old. A new code takes a moment.'
                : 'The link of your mail brought you here. One press and you are in.'}</Heading>
        {here && !isSpent && <Notice tone="lamp" title={`You are signed in as ${here}`}>
            The link signs you in as whoever it was mailed to.</Notice>}
        {verify.error && !isSpent && <Failure error={verify.error} />}
        {isSpent ? <Button kind="primary" wide onClick={onOther}>Mail me a code</Button>
            : <Button kind="primary" wide type="submit" busy={verify.busy}>Sign in</Button>}
        {!isSpent && <Button kind="quiet" onClick={onOther}>Use a code instead</Button>}
    </form>;
}
