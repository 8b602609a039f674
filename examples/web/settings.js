// The settings of your app.
export default {
  title: 'Clinic',
  // In production, pin the public keys that `sealpost signing-keys list` shows, the last value of
  // each line: {keys: ['the key in use', 'the next key']}. Any proxy that terminates TLS can forge
  // unsigned answers.
  signatures: 'unsigned',
  // The public keys of the backends that encrypt end to end, each with 87 characters. With such a
  // key, the page shows no message that was not encrypted.
  senders: [],
};
