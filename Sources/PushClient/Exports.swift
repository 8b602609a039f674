// Apps import only this module. The types for signed answers and for notifications come from the
// two modules below.
@_exported public import HTTPSignatures
@_exported public import PushAPI
