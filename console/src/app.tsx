// The page: who is signed in sees the screens, everybody else the way in.

import { MantineProvider } from '@mantine/core';
import { QueryClientProvider, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { BrowserRouter, Route, Routes } from 'react-router';
import { BackToConsent } from './back-to-consent.tsx';
import { Shell } from './layout/shell.tsx';
import { nonce } from './nonce.ts';
import { Failure } from './parts/failure.tsx';
import { Guarded } from './parts/guarded.tsx';
import { Loading } from './parts/loading.tsx';
import { InvitationPage } from './screens/invitation.tsx';
import { SignInPage } from './screens/sign-in.tsx';
import { Screens } from './screens.tsx';
import { queries, sessionKey, tb } from './service/client.ts';
import { Live } from './service/live.tsx';
import { expectLocations, forgetAll, MeProvider } from './service/me.tsx';
import { type Session, whoIsSignedIn } from './service/session.ts';
import { theme, variables } from './theme.ts';

interface GateProps {
  signedIn?(session: Session): ReactNode;
}

/** What is shown to nobody in particular, or to who is signed in. */
function Gate({ signedIn = (session) => <SignedIn session={session} /> }: GateProps) {
  const { data, error, refetch } = useQuery({
    queryKey: sessionKey,
    queryFn: knownSession,
    staleTime: 60_000,
  });
  if (data?.session) return signedIn(data.session);
  if (data !== undefined) return <SignInPage wasSignedIn={data.wasSignedIn} />;
  if (error !== null) return <Failure error={error} onAgain={() => void refetch()} />;
  return <Loading />;
}

/** Whether somebody was signed in on this page before: it says so when that ends. */
let lastPerson: string | undefined;

async function knownSession() {
  const session = await whoIsSignedIn();
  const wasSignedIn = lastPerson !== undefined;
  // What one person read is not for the next one.
  if (session !== null && lastPerson !== undefined && lastPerson !== session.person.id) forgetAll();
  lastPerson = session?.person.id ?? lastPerson;
  return { session, wasSignedIn };
}

function SignedIn({ session }: { readonly session: Session }) {
  const {
    data: me,
    error,
    refetch,
  } = useQuery({
    queryKey: ['me', session.person.id],
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      expectLocations();
      const { data } = await tb.credential.get({ signal });
      return { scopes: new Set(data.scopes), allLocations: data.locations === 'all' };
    },
  });
  if (error !== null) return <Failure error={error} onAgain={() => void refetch()} />;
  if (me === undefined) return <Loading />;
  return (
    <MeProvider me={{ ...session, ...me }}>
      <Live>
        <Shell>
          <Screens />
        </Shell>
      </Live>
    </MeProvider>
  );
}

export function App() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queries}>
        <Guarded>
          <BrowserRouter basename="/console">
            <Routes>
              <Route path="/invitation" element={<InvitationPage />} />
              <Route path="/allow/:request" element={<Gate signedIn={() => <BackToConsent />} />} />
              <Route path="*" element={<Gate />} />
            </Routes>
          </BrowserRouter>
        </Guarded>
      </QueryClientProvider>
    </MantineProvider>
  );
}
