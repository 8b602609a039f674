// Apps import only this module. Its signed answers and its items have types of the two below.
@_exported public import HTTPSignatures
@_exported public import PushAPI
