// The way back to what an application asks for, from signing in. It leads to a page of the service
// and nowhere else, whatever the address says.

import { useEffect } from 'react';
import { useParams } from 'react-router';
import { Loading } from './parts/loading.tsx';
import { NotFound } from './parts/not-found.tsx';

export function BackToConsent() {
  const { request = '' } = useParams();
  const isRequest = /^[\w-]{21,43}$/.test(request);
  useEffect(() => {
    if (isRequest) location.replace(`/console/consent/${request}`);
  }, [isRequest, request]);
  return isRequest ? <Loading /> : <NotFound />;
}
